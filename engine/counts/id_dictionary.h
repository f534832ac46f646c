// IdDictionary: ids of any kind (snowflakes, UUIDs, names) as small ordinals, and back. One for
// each namespace; which entity types use which is fixed when the directory is created.
//
// An ordinal is given once and never means another id, not even after everything was wiped. Ids
// fall by their hash into 16 stripes, each with a mutex, an index in memory and dense numbers of
// its own; ordinal = number * 16 + stripe, so ordinals are dense but for a few.
//
// What is written when: giving an ordinal changes memory only. Every journal batch also writes all
// that was given before it was drained and is not written yet (AppendUnwritten, NoteWritten), so
// the journal never holds an ordinal whose id the store does not know. What was given and then not
// used before a crash is given anew.
//
// Opening looks up the last number of each stripe, nothing else. Until the loader (LoadSlice) has
// brought all ids into memory, what is not found there is looked up in the store, outside the
// mutex.
//
// Thread-safe.
#pragma once

#include "engine/base/mutex.h"
#include "engine/counts/id_record.h"
#include "engine/facts/id_index.h"
#include "engine/facts/packed_id.h"
#include "engine/storage/store.h"

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

class IdDictionary {
 public:
  // `seed` only places ids in memory and in stripes; it must stay the same for a directory.
  IdDictionary(std::string name, uint64_t seed, Store* store);

  const std::string& name() const { return name_; }
  Status Open();

  // The ordinal of an id; a new one when it has none. kInvalidArgument: not 1 to 512 bytes;
  // kTooLarge: 2^32 ordinals were given.
  Result<uint64_t> Give(std::string_view id);
  Result<std::optional<uint64_t>> Find(std::string_view id);
  // kInvalidArgument: never given, or wiped since.
  Result<std::string> Read(uint64_t ordinal);

  // Whether the ordinal means an id. Under any shard's mutex the answer stays true until it is
  // released: a wipe holds all of them. No lock.
  bool Valid(uint64_t ordinal) const;

  // Adds what is not written yet; `ends` says up to where, for NoteWritten once the batch is in the
  // store. Cheap when there is nothing.
  using Ends = std::array<uint32_t, kIdStripes>;
  bool HasUnwritten() const { return unwritten_.load(std::memory_order_acquire) != 0; }
  void AppendUnwritten(StoreBatch* batch, Ends* ends);
  void NoteWritten(const Ends& ends);

  // All ids are gone. With all shards' mutexes and partitions' consumers held; the record of it
  // goes into the batch that holds the wipe.
  void Wipe();
  void AppendGeneration(StoreBatch* batch);
  // Drops what earlier generations left in the store.
  Status CleanUp();

  // Brings up to `max` ids into memory; false when all are there.
  Result<bool> LoadSlice(size_t max);

  uint64_t size() const;  // ordinals given since the last wipe
  bool loaded() const;
  size_t MemoryBytes() const;

 private:
  struct Stripe {
    explicit Stripe(uint64_t seed) : index(seed) {}
    mutable Mutex mutex;
    IdIndex index TALLY_GUARDED_BY(mutex);
    uint32_t written TALLY_GUARDED_BY(mutex) = 0;  // numbers before it are in the store
    // Copies for Valid.
    std::atomic<uint32_t> begin{0};
    std::atomic<uint32_t> end{0};
  };

  uint32_t StripeOf(std::string_view packed) const;
  // The number that the store has for an id of the generation; the mutex is not held.
  Result<std::optional<uint32_t>> Stored(std::string_view packed, uint32_t stripe);

  const std::string name_;
  const uint64_t seed_;
  Store* const store_;
  std::vector<std::unique_ptr<Stripe>> stripes_;
  std::atomic<uint32_t> generation_{0};
  std::atomic<uint64_t> unwritten_{0};  // ordinals given and not written
};

// The dictionaries of an engine, by entity type.
class IdDictionaries {
 public:
  IdDictionaries() = default;
  // Opens them. `seed` as above.
  Status Open(const std::vector<IdNamespaceSpec>& specs, uint64_t seed, Store* store);

  // Null: the entity type has plain uids.
  IdDictionary* Of(std::string_view etype) const;
  std::span<const std::unique_ptr<IdDictionary>> all() const { return all_; }

  // For a journal batch: see IdDictionary.
  using Ends = std::vector<std::pair<IdDictionary*, IdDictionary::Ends>>;
  void AppendUnwritten(StoreBatch* batch, Ends* ends) const;
  static void NoteWritten(const Ends& ends);

 private:
  std::vector<IdNamespaceSpec> specs_;
  std::vector<std::unique_ptr<IdDictionary>> all_;
};

}  // namespace tallystick
