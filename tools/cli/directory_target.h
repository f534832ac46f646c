// Replays straight into a data directory through the engine.
#pragma once

#include "tools/cli/replay_target.h"

#include <tallystick/engine.h>

#include <memory>
#include <vector>

namespace tallystick {

class DirectoryTarget : public ReplayTarget {
 public:
  // `keys` must outlive the target.
  DirectoryTarget(std::unique_ptr<Engine> engine, const FactKeys* keys);

  Status CheckCounted(const NamedFactKey& key) override;
  Status StartBatch(const ReplayBatch& batch) override;
  Result<uint64_t> FinishBatch() override;
  Status Settle() override;
  Status ReadCounts(std::span<const FactKeys::Number> keys,
                    std::vector<FactCount>* counts) override;
  Status ReadMembers(std::span<const FactKeys::Number> keys, std::unordered_set<uint64_t>* uids,
                     uint64_t* members) override;
  Status Close() override;

 private:
  const std::unique_ptr<Engine> engine_;
  const FactKeys& keys_;
  std::vector<FactOp> ops_;
  std::vector<FactOutcome> outcomes_;
};

}  // namespace tallystick
