// A batch of interactions whose order does not matter, so that any part of it may be sent again.
//
// Rows of different facts commute, and so do repeated rows of one fact with the same op. Only a set
// and a clear of one and the same fact must keep their order: the second of them begins a new
// batch. A batch may therefore be grouped by key and op, and what the other side refused for lack
// of room may be repeated after the rest.
#pragma once

#include "tools/cli/fact_keys.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tallystick {

class ReplayBatch {
 public:
  // uids that are set, or cleared, in one fact set.
  struct Group {
    FactKeys::Number key = 0;
    bool set = false;
    std::vector<uint64_t> uids;  // ascending is not promised; the same uid may come twice
  };

  // False, and unchanged, when the batch holds the opposite op of this fact.
  bool Add(FactKeys::Number key, uint64_t uid, bool set);
  void Clear();

  size_t rows() const { return rows_; }
  const std::vector<Group>& groups() const { return groups_; }

 private:
  struct Fact {
    FactKeys::Number key;
    uint64_t uid;
    friend bool operator==(const Fact&, const Fact&) = default;
  };
  struct FactHash {
    size_t operator()(const Fact& fact) const {
      return static_cast<size_t>(
          (fact.uid + fact.key * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu >> 16);
    }
  };

  size_t rows_ = 0;
  std::vector<Group> groups_;
  std::unordered_map<uint64_t, size_t> group_of_;  // key * 2 + set, to its place in groups_
  std::unordered_map<Fact, bool, FactHash> ops_;
};

}  // namespace tallystick
