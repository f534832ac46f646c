#include "tools/cli/replay_batch.h"

namespace tallystick {

bool ReplayBatch::Add(FactKeys::Number key, uint64_t uid, bool set) {
  const auto [op, first] = ops_.try_emplace(Fact{key, uid}, set);
  if (!first && op->second != set) return false;
  const uint64_t wanted = uint64_t{key} * 2 + (set ? 1 : 0);
  const auto [place, is_new] = group_of_.try_emplace(wanted, groups_.size());
  if (is_new) groups_.push_back({key, set, {}});
  groups_[place->second].uids.push_back(uid);
  ++rows_;
  return true;
}

void ReplayBatch::Clear() {
  rows_ = 0;
  groups_.clear();
  group_of_.clear();
  ops_.clear();
}

}  // namespace tallystick
