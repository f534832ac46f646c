// Engine: facts (who did what), counts (how many did it), and the proof that they agree.
//
//   tallystick::Options options;
//   options.dir = "./data";
//   auto engine = tallystick::Engine::Open(options);
//   if (!engine) { std::cerr << engine.error().ToString() << "\n"; return 1; }
//   auto liked = (*engine)->Set({"like", "article", "42"}, 7);   // liked->changed() is true once
//   auto counts = (*engine)->GetCounts({"article", "42"});       // values[0] == 1
//
// Thread-safety: every call may be made from any thread at any time between Open and Close.
// Ownership: arguments are only read during the call; results are copies.
// Errors: a call that fails with any code but kReadOnly has changed nothing. kReadOnly answers two
// situations: refused because the engine already was read-only (nothing changed), or the write's
// own journal batch failed: then it is in doubt, visible to readers until the restart that decides
// it. Cost: a call on a resident set takes a short lock on one shard (under a microsecond). The
// first touch of an entity or chunk that is only on disk reads it from RocksDB, outside the lock.
#pragma once

#include <tallystick/algebra.h>
#include <tallystick/counts.h>
#include <tallystick/export.h>
#include <tallystick/options.h>
#include <tallystick/result.h>
#include <tallystick/stats.h>
#include <tallystick/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tallystick {

// One fact set (or plain key) as Engine::List reports it.
struct Listed {
  std::string etype;                   // "" for a plain key
  std::string eid;                     // the whole key for a plain key
  std::string metric;                  // "" for a plain string
  PlainType plain = PlainType::kNone;  // set for plain keys
  SetLabels labels;
  uint64_t cardinality = 0;
  std::vector<uint64_t>
      chunks;  // numbers of the chunks with a member, ascending; empty for plain keys
};

// Which entities Engine::List walks. An empty filter walks everything.
struct ListFilter {
  std::optional<std::string> etype;  // exactly this type
  std::optional<std::string> eid;    // exactly this id (only with etype): one look-up, no walk
  bool with_chunks = false;          // fill Listed::chunks
};

struct PlainSetOptions {
  bool only_if_absent = false;   // NX
  bool only_if_present = false;  // XX
  bool return_old = false;       // GET: kWrongType when the old value is not a string
  bool keep_expiry = false;      // KEEPTTL
  uint64_t expire_at_ms = 0;     // wall clock, ms since 1970; 0: never
};

struct PlainSetOutcome {
  bool stored = false;
  std::optional<std::string> old;
};

struct PlainInfo {
  PlainType type = PlainType::kNone;
  uint64_t expire_at_ms = 0;  // 0: never
  uint64_t string_bytes = 0;  // length as a Redis string; 0 for a set
};

class TALLYSTICK_EXPORT Engine {
 public:
  // Opens or creates a directory. Work is proportional to the number of files and partitions, not
  // to the data; journal tails are replayed on first touch or in the background. Errors: kLocked
  // (another process), kDataLoss (durable journal is missing; the message names partition and
  // offsets), kUnsupportedFormat, kInvalidArgument (options that contradict the directory),
  // kCorruption, kIoError.
  static Result<std::unique_ptr<Engine>> Open(const Options& options);

  // Closes without error reporting; call Close() first to learn whether all was written.
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Stops background work, writes everything that is dirty, fsyncs and releases the directory. No
  // other call may be running or follow. Idempotent.
  virtual Status Close() = 0;

  // ---- Facts
  // -------------------------------------------------------------------------------------

  // Runs ops in order, as one batch: grouped by shard (operations on one key keep their order),
  // each shard locked once. outcomes.size() must equal ops.size(); each op succeeds or fails by
  // itself. Waits as options say before returning; with kMemory pass a ticket to wait later. The
  // returned Status reports a failure of that wait (kReadOnly); per-op errors are in outcomes.
  // `ticket` may be null. In mode always the ticket also covers state that was only read.
  virtual Status Apply(std::span<const FactOp> ops, std::span<FactOutcome> outcomes,
                       const WriteOptions& options = {}, Ticket* ticket = nullptr) = 0;

  // Single forms of Apply.
  Result<FactOutcome> Set(const FactKey& key, uint64_t uid, const WriteOptions& options = {});
  Result<FactOutcome> Clear(const FactKey& key, uint64_t uid, const WriteOptions& options = {});
  Result<FactOutcome> Toggle(const FactKey& key, uint64_t uid, const WriteOptions& options = {});
  Result<bool> Has(const FactKey& key, uint64_t uid);

  // Clears what `take` names and, if that was set, sets what `put` names; answers whether it was
  // (their kinds mean nothing). Nothing changes when both name the same. Both or neither, for
  // others and for a restart: the events are journaled by the call, in one write of the store.
  virtual Result<bool> Move(const FactOp& take, const FactOp& put, const WriteOptions& options = {},
                            Ticket* ticket = nullptr) = 0;

  // Clears every member in range, as one event. Returns how many were cleared. O(members + chunks).
  virtual Result<uint64_t> ClearRange(const FactKey& key, UidRange range,
                                      const WriteOptions& options = {},
                                      Ticket* ticket = nullptr) = 0;

  // Number of members, in all (texts included) or within range. O(1) for the whole set or whole
  // chunks.
  virtual Result<uint64_t> Cardinality(const FactKey& key, UidRange range = {},
                                       Ticket* ticket = nullptr) = 0;

  // Appends up to `limit` members >= from to *uids, ascending. Returns the uid to continue from, or
  // nullopt at the end. Members that stay during the whole scan are seen exactly once.
  virtual Result<std::optional<uint64_t>> Scan(const FactKey& key, uint64_t from, size_t limit,
                                               std::vector<uint64_t>* uids,
                                               Ticket* ticket = nullptr) = 0;

  // Texts of a plain set, from position `from` on (0: the first), at least `limit` while there are
  // more; the position to continue from, whose lowest 16 bits are 0, or nullopt at the end. In no
  // order; texts that stay during the whole scan are seen exactly once. None of another set.
  virtual Result<std::optional<uint64_t>> ScanTexts(const FactKey& key, uint64_t from, size_t limit,
                                                    std::vector<std::string>* texts,
                                                    Ticket* ticket = nullptr) = 0;

  // Bits of uids first .. first + 8*bytes - 1, bit 0 first and most significant first within a byte
  // (Redis's order). `first` must be a multiple of 8; at most 64 MiB.
  virtual Result<std::string> ReadBits(const FactKey& key, uint64_t first, size_t bytes,
                                       Ticket* ticket = nullptr) = 0;

  // Largest member within range, nullopt when there is none.
  virtual Result<std::optional<uint64_t>> Last(const FactKey& key, UidRange range = {},
                                               Ticket* ticket = nullptr) = 0;

  // Labels, form and bytes of one set, for FACT.STAT and TYPE.
  struct SetInfo {
    SetLabels labels;
    uint64_t cardinality = 0;
    uint64_t chunks_sparse = 0, chunks_array = 0, chunks_roaring = 0, chunks_dense = 0;
    uint64_t chunks_on_disk = 0;
    uint64_t memory_bytes = 0;
    bool resident = false;
    uint64_t sequence = 0;
  };
  virtual Result<SetInfo> GetSetInfo(const FactKey& key, Ticket* ticket = nullptr) = 0;

  // ---- Many facts at once
  // --------------------------------------------------------------------------

  // Smallest uid within range that is no member, nullopt when all are. O(log^2 n).
  virtual Result<std::optional<uint64_t>> FirstClear(const FactKey& key, UidRange range,
                                                     Ticket* ticket = nullptr) = 0;
  // Runs the operations in order, as one change under the shard's lock and one event; an answer
  // each, nullopt for an overflow with kFail. A plain bitmap grows to the last byte that an
  // operation may write, changed or not; a plain string is written as a whole. When all only read
  // it is a read, which is answered when writes are refused. `labels` as in FactOp.
  virtual Result<std::vector<std::optional<int64_t>>> BitField(const FactKey& key,
                                                               std::span<const BitFieldOp> ops,
                                                               SetLabels labels,
                                                               const WriteOptions& options = {},
                                                               Ticket* ticket = nullptr) = 0;
  // The members within range become those given (ascending, all within range), as one event.
  // O(members of the range before and after), under the shard's lock.
  virtual Result<BulkOutcome> ReplaceRange(const FactKey& key, UidRange range,
                                           std::span<const uint64_t> members, SetLabels labels,
                                           const WriteOptions& options = {},
                                           Ticket* ticket = nullptr) = 0;
  // Combines strings of bits into `target`; returns the length in bytes, that of the longest
  // source. A plain target (metric "bits") becomes that bitmap, whatever it was, without expiry;
  // with length 0 it is deleted. Of another target the members within range become the bits, bit 0
  // being range.first. One change, one event. A bit beyond range is kInvalidArgument; more than
  // 512 MB are kTooLarge. Sources are read chunk by chunk before anything is written: one that
  // changes meanwhile may be seen changed in part.
  virtual Result<uint64_t> StoreBits(BitOp op, std::span<const BitSource> sources,
                                     const FactKey& target, UidRange range, SetLabels labels,
                                     const WriteOptions& options = {},
                                     Ticket* ticket = nullptr) = 0;

  // Appends random members, texts included, in random order: up to `count` different ones, or
  // exactly `count` that may repeat (none of an empty set). O(count * log^2 n), at most O(n).
  virtual Status Sample(const FactKey& key, uint64_t count, bool distinct, Members* members,
                        Ticket* ticket = nullptr) = 0;
  // Removes up to `count` random members as one event and appends them, in random order.
  virtual Status TakeRandom(const FactKey& key, uint64_t count, Members* members,
                            const WriteOptions& options = {}, Ticket* ticket = nullptr) = 0;

  // Appends members >= from of the intersection, the union, or of the first without the others,
  // ascending, `limit` at most; returns the uid to continue from, or nullopt at the end. A call
  // does a bounded piece of work and may find nothing though more follow. What stays as it is in
  // all sets during a whole walk is answered rightly. The smallest set leads an intersection.
  virtual Result<std::optional<uint64_t>> Combine(SetOp op, std::span<const FactKey> sources,
                                                  uint64_t from, size_t limit,
                                                  std::vector<uint64_t>* uids,
                                                  Ticket* ticket = nullptr) = 0;
  // The same for texts, by position as in ScanTexts.
  virtual Result<std::optional<uint64_t>> CombineTexts(SetOp op, std::span<const FactKey> sources,
                                                       uint64_t from, size_t limit,
                                                       std::vector<std::string>* texts,
                                                       Ticket* ticket = nullptr) = 0;
  // The target becomes the result of Combine and CombineTexts; returns its cardinality. A plain
  // target (metric "set") becomes it whatever it was, without expiry; with no member it is deleted.
  // Another target has no texts: a result with texts is then kInvalidArgument and nothing has
  // changed. One change, one event: others see the set before or after it, and so does a restart.
  virtual Result<uint64_t> StoreCombined(SetOp op, std::span<const FactKey> sources,
                                         const FactKey& target, SetLabels labels,
                                         const WriteOptions& options = {},
                                         Ticket* ticket = nullptr) = 0;

  // The members from `from` on as an image in the portable 64-bit roaring format
  // (RoaringFormatSpec; what CRoaring's Roaring64Map::write(portable), Java's Roaring64NavigableMap
  // in portable mode and Go's roaring64 read). Stops before the image would pass bytes_max
  // (kImageBytesMin to kImageBytesMax, else kInvalidArgument) and says where to go on: the union of
  // all parts is the set. Reads by pages, each under a short lock: members that stay meanwhile are
  // in it. An empty set gives an image without members. `key` may be a plain set or bitmap; a plain
  // string is kWrongType.
  virtual Result<Exported> Export(const FactKey& key, uint64_t from = 0,
                                  size_t bytes_max = kImageBytesMax, Ticket* ticket = nullptr) = 0;
  // Sets the facts that a portable image has, and (kReplace) clears all others of the set: one
  // change and one event, so counts move once, a restart finds all of it or nothing, and the same
  // import again changes nothing. `image` is not trusted: kInvalidArgument says what is wrong with
  // it and where; kTooLarge: more than kImageBytesMax, or runs that ask for too much memory.
  // `key` is no plain key (kInvalidArgument). O(members of the image and the set), with the memory
  // of both until it is done; the shard's lock is held for what others changed meanwhile, and not
  // for the members. kBusy also when others keep replacing the set.
  virtual Result<BulkOutcome> Import(const FactKey& key, std::string_view image,
                                     ImportMode mode = ImportMode::kAdd, SetLabels labels = {},
                                     const WriteOptions& options = {},
                                     Ticket* ticket = nullptr) = 0;

  // ---- Ids of any kind
  // ---- For entity types of Options::ids: their uids are ordinals, each given for an id (1 to 512
  // bytes) and never for another, also after a Wipe. Dense, below 2^32. Numbers take about 15 bytes
  // of memory, UUIDs 23. A change of a fact reaches the journal together with what its ordinal
  // stands for; an ordinal that no fact used may be given anew after a crash. Such types refuse an
  // ordinal that was never given, and changes of many facts at once (BitField, ReplaceRange,
  // StoreBits, StoreCombined, Import) with kInvalidArgument.

  // The namespace of an entity type; "": its uids are plain numbers.
  virtual std::string_view IdNamespace(std::string_view etype) const = 0;
  // The ordinals of ids; new ones where they have none. O(1) each, no I/O once all ids are loaded.
  // kInvalidArgument: not 1 to 512 bytes, or the type has no namespace; kTooLarge: it is full.
  virtual Status GiveOrdinals(std::string_view etype, std::span<const std::string_view> ids,
                              std::span<uint64_t> ordinals) = 0;
  // The same without giving: kNoOrdinal, which is no member of any set, where an id has none.
  virtual Status FindOrdinals(std::string_view etype, std::span<const std::string_view> ids,
                              std::span<uint64_t> ordinals) = 0;
  // Appends the ids of ordinals. kInvalidArgument: one was never given, or before the last Wipe.
  virtual Status ReadIds(std::string_view etype, std::span<const uint64_t> ordinals,
                         std::vector<std::string>* ids) = 0;

  // ---- Counts
  // ------------------------------------------------------------------------------------

  // Counts of one entity; a caller sees its own earlier writes. An unknown entity has zeros, kNone.
  virtual Result<Counts> GetCounts(const EntityKey& entity, Ticket* ticket = nullptr) = 0;
  // Counts of many, in one pass; out->size() becomes entities.size().
  virtual Status GetCounts(std::span<const EntityKey> entities, std::vector<Counts>* out,
                           Ticket* ticket = nullptr) = 0;
  // The SDS image: big-endian slots, clamped to 0 .. 2^(8*width)-1, in schema order.
  virtual Result<std::string> GetRecord(const EntityKey& entity, Ticket* ticket = nullptr) = 0;
  // Adds delta to the counter part of a slot; returns the slot's new value (facts + counter part).
  // Errors: kInvalidArgument (no such slot, or it has no counter part), kOverflow.
  virtual Result<int64_t> AddToCounter(const EntityKey& entity, std::string_view slot,
                                       int64_t delta, const WriteOptions& options = {},
                                       Ticket* ticket = nullptr) = 0;

  // Returns once every change acknowledged before the call is folded and (for the entities given,
  // or all when empty) its record is written. kTimedOut after timeout_ms (negative: never).
  virtual Status Sync(std::span<const EntityKey> entities = {}, int32_t timeout_ms = -1) = 0;
  // Recounts the members, reads the record from RocksDB, and compares. O(members).
  virtual Result<Verification> Verify(const EntityKey& entity) = 0;
  // Computes the counts anew from facts and counter parts, as an event through the ring.
  virtual Result<RebuildOutcome> Rebuild(const EntityKey& entity,
                                         const WriteOptions& options = {}) = 0;

  // The slots of an entity type, in order.
  virtual const std::vector<SlotSpec>& Slots(std::string_view etype) const = 0;

  // ---- Plain keys
  // -------------------------------------------------------------------------------- Strings with
  // expiry. Plain sets and bitmaps are fact sets with etype "" (see EntityKey): writing one where a
  // string lives is kWrongType, except bits on a string, which change its bytes.

  virtual Result<PlainSetOutcome> PlainSet(std::string_view key, std::string_view value,
                                           const PlainSetOptions& set = {},
                                           const WriteOptions& options = {},
                                           Ticket* ticket = nullptr) = 0;
  // nullopt: no such key. A bitmap is returned as its bytes. kWrongType on a set.
  virtual Result<std::optional<std::string>> PlainGet(std::string_view key,
                                                      Ticket* ticket = nullptr) = 0;
  virtual Result<PlainInfo> GetPlainInfo(std::string_view key, Ticket* ticket = nullptr) = 0;
  // Deletes a key of any plain type; whether it existed.
  virtual Result<bool> PlainDelete(std::string_view key, const WriteOptions& options = {},
                                   Ticket* ticket = nullptr) = 0;

  // ---- Everything
  // --------------------------------------------------------------------------------

  // Walks fact sets and plain keys in an unspecified but stable order, at least `hint` per call
  // unless the end is near. Returns the cursor to go on with, 0 at the end. What stays during the
  // whole walk is seen at least once. The cursor fits 53 bits. Loads the index of what it walks.
  virtual Result<uint64_t> List(uint64_t cursor, size_t hint, const ListFilter& filter,
                                std::vector<Listed>* out) = 0;

  // Removes all facts, counts and plain keys, atomically and durably.
  virtual Status Wipe() = 0;

  // Returns once what the ticket names has reached `wait`.
  virtual Status Wait(const Ticket& ticket, WaitFor wait) = 0;
  // Calls back once, from this thread at once or later from an engine thread. The callback must be
  // short and must not call the engine.
  virtual void OnReady(const Ticket& ticket, WaitFor wait,
                       std::function<void(const Status&)> done) = 0;

  // Writes snapshots and records of all that is dirty, and moves the checkpoint up.
  virtual Status Checkpoint() = 0;

  virtual Durability durability() const = 0;
  virtual void SetDurability(Durability durability) = 0;
  virtual Stats GetStats() const = 0;

 protected:
  Engine() = default;
};

}  // namespace tallystick
