// Catalog: the names of one engine (entity types, metrics and slots) as small numbers, and which
// slot of which type counts which metric.
//
// Names are only added; a number never changes while the engine is open (it is not persisted: what
// is stored holds names). Look-ups take no lock; adding takes one.
#pragma once

#include "engine/base/mutex.h"
#include "engine/counts/schema.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

inline constexpr uint8_t kNoSlot = 0xff;
inline constexpr uint16_t kPlainEtype = 0;
inline constexpr uint8_t kSetMetric = 0;   // kPlainSetMetric
inline constexpr uint8_t kBitsMetric = 1;  // kPlainBitsMetric
inline constexpr uint8_t kTextMetric = 2;  // names the pages of a plain set's texts in the store
inline constexpr std::string_view kTextMetricName = "text";

class IdDictionaries;
class IdDictionary;

struct EtypeInfo {
  uint16_t id = 0;
  std::string name;
  uint64_t hash_seed = 0;  // of entity placement
  const std::vector<SlotSpec>* slots = nullptr;
  IdDictionary* ids = nullptr;  // its uids are ordinals of these; null: plain numbers
  // By metric number: the slot whose facts it is, and the slot whose name it is (counter parts).
  std::array<uint8_t, 256> slot_of_metric;
  std::array<uint8_t, 256> slot_of_name;
  // By slot: the metric number, and the number of the slot's own name.
  std::array<uint8_t, kSlotsMax> metric_of_slot{};
  std::array<uint8_t, kSlotsMax> name_of_slot{};
};

class Catalog {
 public:
  // `ids` may be null and must outlive the catalog.
  Catalog(Schema schema, uint64_t placement_seed, const IdDictionaries* ids);
  ~Catalog();

  const Schema& schema() const { return schema_; }
  // Of every TextSet of the database.
  uint64_t text_seed() const { return TextSeed(placement_seed_); }
  static uint64_t TextSeed(uint64_t placement_seed);

  // nullptr when it was never added.
  const EtypeInfo* FindEtype(std::string_view name) const;
  // Adds when missing; nullptr when kEntityTypesMax is reached. `name` must be valid or "".
  const EtypeInfo* AddEtype(std::string_view name);
  const EtypeInfo& etype(uint16_t id) const;

  std::optional<uint8_t> FindMetric(std::string_view name) const;
  std::optional<uint8_t> AddMetric(std::string_view name);  // nullopt when kMetricsMax is reached
  std::string_view metric(uint8_t id) const;

  static bool ValidName(std::string_view name);  // [A-Za-z0-9_-]{1,64}
  static uint64_t HashEntity(const EtypeInfo& etype, std::string_view eid);

 private:
  // Open addressing over names; readers see an entry only when it is whole (release/acquire).
  struct NameEntry {
    std::string name;
    uint32_t id;
  };
  struct NameIndex {
    explicit NameIndex(size_t slots) : mask(slots - 1), table(slots) {}
    const NameEntry* Find(std::string_view name) const;
    void Add(std::unique_ptr<NameEntry> entry);
    size_t mask;
    std::vector<std::atomic<const NameEntry*>> table;
    std::vector<std::unique_ptr<NameEntry>> owned;
  };

  const Schema schema_;
  const uint64_t placement_seed_;
  const IdDictionaries* const ids_;
  Mutex mutex_;
  NameIndex metrics_;
  NameIndex etypes_;
  std::array<std::atomic<const NameEntry*>, 256> metric_by_id_{};
  uint32_t metric_count_ TALLY_GUARDED_BY(mutex_) = 0;
  std::vector<std::atomic<const EtypeInfo*>> etype_by_id_;
  std::vector<std::unique_ptr<EtypeInfo>> etype_infos_ TALLY_GUARDED_BY(mutex_);
};

}  // namespace tallystick
