// Replays into a server over RESP: FACT.ADD and FACT.REM in pipelined batches, then COUNT.SYNC,
// COUNT.MGET, FACT.CARD and FACT.SCAN for the answers.
#pragma once

#include "tools/cli/replay_target.h"
#include "tools/cli/resp_client.h"

#include <tallystick/counts.h>

#include <memory>
#include <string>
#include <vector>

namespace tallystick {

class ServerTarget : public ReplayTarget {
 public:
  // `keys` must outlive the target. An empty schema: every slot is named like its metric.
  ServerTarget(std::unique_ptr<RespClient> client, const FactKeys* keys, SchemaSpec schema);

  Status CheckCounted(const NamedFactKey& key) override;
  Status StartBatch(const ReplayBatch& batch) override;
  Result<uint64_t> FinishBatch() override;
  Status Settle() override;
  Status ReadCounts(std::span<const FactKeys::Number> keys,
                    std::vector<FactCount>* counts) override;
  Status ReadMembers(std::span<const FactKeys::Number> keys, std::unordered_set<uint64_t>* uids,
                     uint64_t* members) override;
  Status Close() override { return {}; }

 private:
  void QueueGroup(const ReplayBatch::Group& group);
  Result<std::string> SlotName(const NamedFactKey& key) const;
  // COUNT.MGET of keys that share metric and entity type.
  Status ReadRecords(std::span<const FactKeys::Number> keys, std::vector<FactCount>* counts);

  const std::unique_ptr<RespClient> client_;
  const FactKeys& keys_;
  const SchemaSpec schema_;
  std::vector<const ReplayBatch::Group*> sent_;  // in the order of their replies
};

}  // namespace tallystick
