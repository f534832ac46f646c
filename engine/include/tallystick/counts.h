// Schema and counts: which numbers an entity has and what they say.
#pragma once

#include <tallystick/export.h>
#include <tallystick/result.h>
#include <tallystick/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

// One number of an entity: the cardinality of its fact set `metric` (if has_facts) plus a counter
// part that COUNT.INCRBY moves (if has_counter).
struct SlotSpec {
  std::string name;         // [A-Za-z0-9_-]{1,64}
  std::string metric;       // whose facts it counts; empty: same as name
  uint8_t width_bytes = 4;  // 4 or 8, in the SDS image
  bool has_facts = true;
  bool has_counter = false;
  friend bool operator==(const SlotSpec&, const SlotSpec&) = default;
};

struct EntityTypeSpec {
  std::string etype;  // "*" stands for every type that is not listed
  std::vector<SlotSpec> slots;
  friend bool operator==(const EntityTypeSpec&, const EntityTypeSpec&) = default;
};

// Fixed in the directory when it is created. The default is what most platforms need.
struct TALLYSTICK_EXPORT SchemaSpec {
  std::vector<EntityTypeSpec> types;
  friend bool operator==(const SchemaSpec&, const SchemaSpec&) = default;

  // "*": like, fav (facts), comment, share, view (facts and a counter part), 4 bytes each.
  static SchemaSpec Default();
};

enum class CountSource : uint8_t {
  kNone,    // nothing is known of the entity: all zeros, and that is true
  kRecord,  // the stored record plus what was folded since
  kFacts,   // computed from facts because the record was missing or damaged; it is being rewritten
};

// One line of a schema in a configuration file: entity type and slots, as
// "like:facts fav:facts comment:facts+counter followers=follow:facts view:counter:8", that is
// name[=metric][:facts|counter|facts+counter][:width], separated by blanks or commas; facts and 4
// when left out. kInvalidArgument says what to mend.
TALLYSTICK_EXPORT Result<EntityTypeSpec> ParseEntityType(std::string_view etype,
                                                         std::string_view slots);

// The counts of one entity, in slot order. Values are exact signed 64-bit; only the SDS image
// clamps.
struct Counts {
  uint32_t slots = 0;
  std::array<int64_t, kSlotsMax> values{};
  CountSource source = CountSource::kNone;
  uint64_t sequence = 0;  // shard sequence up to which the values are true
};

// The proof: record + pending = facts + counter part, per slot.
struct VerifiedSlot {
  std::string name;
  int64_t record = 0;   // as stored in RocksDB
  int64_t pending = 0;  // folded or in flight since the record was written
  int64_t facts = 0;    // recounted from the members, not from kept cardinalities
  int64_t counter_part = 0;
  bool ok() const { return record + pending == facts + counter_part; }
};
struct Verification {
  bool ok = true;
  uint64_t record_sequence = 0;
  uint64_t sequence = 0;
  std::vector<VerifiedSlot> slots;
};

struct RebuildOutcome {
  Counts before;
  Counts after;
};

}  // namespace tallystick
