#include "tests/crash/universe.h"

#include <tallystick/types.h>

#include "engine/base/assert.h"

namespace tallystick::test {
namespace {

constexpr uint32_t kStringsPerOwner = 32;
constexpr uint32_t kPagesPerOwner = 16;
constexpr uint32_t kOwnSetsPerOwner = 8;

// Ids of every kind: dense, one per chunk, far apart, and the largest of all. Distinct by (owner,
// i).
uint64_t UserId(uint32_t owner, uint32_t i) {
  switch (i % 4) {
    case 0:
      return owner * 64u + i;
    case 1:
      return (uint64_t{i} + 1) * kChunkBits + 1000 + owner;
    case 2:
      return (uint64_t{1} << 40) + (uint64_t{owner} << 20) * 977 + i;
    default:
      return UINT64_MAX - owner * 64u - i;
  }
}

// Offsets of a plain bitmap: it costs its length, so they stay low.
uint64_t BitOffset(uint32_t owner, uint32_t i) {
  return i * 20011u + owner;
}

}  // namespace

Universe::Universe(const UniverseOptions& options) : options_(options), groups_of_(options.owners) {
  TALLY_ASSERT(options.owners > 0 && options.owners <= 64 && options.cells_per_owner <= 64);
  for (uint32_t number = 0; number < options.shared_groups; ++number) {
    if (!options.only_redis) {
      AddShared(Family::kFacts, number);
      AddShared(Family::kChunkBits, number);
    }
    AddShared(Family::kMembers, number);
    AddShared(Family::kPlainBits, number);
    AddShared(Family::kPlainMembers, number);
  }
  for (uint32_t owner = 0; owner < options.owners; ++owner) AddOwned(owner);
}

void Universe::AddShared(Family family, uint32_t number) {
  Group group;
  group.family = family;
  const std::string n = std::to_string(number);
  if (family == Family::kFacts) {
    group.entity = "article:" + n;
    group.slot_name = "like";
    group.fact_key = group.key = "like:article:" + n;
  } else if (family == Family::kChunkBits) {
    group.entity = "article:" + n;
    group.slot_name = "fav";
    group.fact_key = "fav:article:" + n;
    group.key = "bm:fav:article:" + n + ":";
  } else if (family == Family::kMembers) {
    group.entity = "comment:" + n;
    group.slot_name = "like";
    group.fact_key = "like:comment:" + n;
    group.key = "comment:likes:" + n;
  } else {
    group.key = (family == Family::kPlainBits ? "plain-bits-" : "plain-set-") + n;
  }
  for (uint32_t owner = 0; owner < options_.owners; ++owner) {
    for (uint32_t i = 0; i < options_.cells_per_owner; ++i) {
      const bool bits = family == Family::kPlainBits;
      group.slots.push_back({bits ? BitOffset(owner, i) : UserId(owner, i), owner, {}});
    }
    groups_of_[owner].push_back(static_cast<uint32_t>(groups_.size()));
  }
  groups_.push_back(std::move(group));
}

void Universe::AddOwned(uint32_t owner) {
  const auto add = [&](Group group) {
    groups_of_[owner].push_back(static_cast<uint32_t>(groups_.size()));
    groups_.push_back(std::move(group));
  };
  const std::string prefix = std::to_string(owner) + "-";
  Group strings{Family::kStrings, "plain-string-" + prefix, "", "", "", {}};
  for (uint32_t i = 0; i < kStringsPerOwner; ++i) strings.slots.push_back({i, owner, {}});
  add(std::move(strings));
  for (uint32_t set = 0; set < kOwnSetsPerOwner; ++set) {
    const std::string eid = prefix + std::to_string(set);
    Group own{Family::kOwnMembers, "own:likes:" + eid, "like:own:" + eid, "own:" + eid, "like", {}};
    for (uint32_t i = 0; i < options_.cells_per_owner; ++i) {
      own.slots.push_back({UserId(owner, i), owner, {}});
    }
    add(std::move(own));
  }
  if (options_.only_redis) return;
  for (uint32_t page = 0; page < kPagesPerOwner; ++page) {
    Group counters{Family::kCounters, "", "", "page:" + prefix + std::to_string(page), "", {}};
    for (uint32_t i = 0; i < std::size(kCounterSlots); ++i) {
      counters.slots.push_back({i, owner, {}});
    }
    add(std::move(counters));
  }
}

std::string ChunkKey(const Group& group, uint64_t uid) {
  return group.key + std::to_string(uid / kChunkBits);
}

std::string StringKey(const Group& group, uint64_t number) {
  return group.key + std::to_string(number);
}

}  // namespace tallystick::test
