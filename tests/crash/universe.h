// Universe: every value that the crash tests write, who owns it, and what is known of it. Pure.
//
// A group is one key (or one family of keys) with cells of all owners in it, so that owners meet in
// one fact set while each cell still has one writer and can be checked exactly.
#pragma once

#include "tests/crash/cell.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tallystick::test {

enum class Family : uint8_t {
  kFacts,         // FACT.* on like:article:N
  kChunkBits,     // SETBIT, GETBIT on the chunks of fav:article:N
  kMembers,       // SADD, SREM on comment:likes:N
  kPlainBits,     // SETBIT on a plain key
  kPlainMembers,  // SADD, SREM on a plain key
  kOwnMembers,    // SADD, SREM, and DEL of the whole key, which has one owner
  kStrings,       // SET, DEL of plain strings
  kCounters,      // COUNT.INCRBY of the slots of one entity, which has one owner
};

struct Slot {
  uint64_t uid = 0;  // user id, bit offset, member; number of the string or of the counter's slot
  uint32_t owner = 0;
  Cell cell;
};

struct Group {
  Family family = Family::kFacts;
  std::string key;  // the Redis name; of kChunkBits and kStrings a prefix that lacks the last part
  std::string fact_key;  // metric:etype:eid; empty for plain keys and counters
  std::string entity;    // etype:eid; empty for plain keys
  std::string
      slot_name;  // of the count record, that the facts move; empty for plain keys and counters
  std::vector<Slot> slots;
};

// A cell by its place in Universe::groups.
struct CellRef {
  uint32_t group = 0;
  uint32_t slot = 0;
};

struct UniverseOptions {
  uint32_t owners = 8;
  uint32_t shared_groups = 48;    // of each family that all owners write
  uint32_t cells_per_owner = 12;  // in each group
  bool only_redis = false;        // only what redis-server knows as well
};

class Universe {
 public:
  explicit Universe(const UniverseOptions& options);

  std::vector<Group>& groups() { return groups_; }
  const std::vector<Group>& groups() const { return groups_; }
  Group& group(CellRef ref) { return groups_[ref.group]; }
  Slot& slot(CellRef ref) { return groups_[ref.group].slots[ref.slot]; }
  // Numbers of the groups in which `owner` has cells; never empty.
  const std::vector<uint32_t>& groups_of(uint32_t owner) const { return groups_of_[owner]; }
  const UniverseOptions& options() const { return options_; }

 private:
  void AddShared(Family family, uint32_t number);
  void AddOwned(uint32_t owner);

  const UniverseOptions options_;
  std::vector<Group> groups_;
  std::vector<std::vector<uint32_t>> groups_of_;
};

inline constexpr const char* kCounterSlots[] = {"comment", "share", "view"};

// "fav:article:7" and a user id give "bm:fav:article:7:CHUNK"; the offset is uid % kChunkBits.
std::string ChunkKey(const Group& group, uint64_t uid);
std::string StringKey(const Group& group, uint64_t number);

}  // namespace tallystick::test
