// Where a replay goes: a server or a data directory. Both answer the same questions, and what they
// answer after the rows were sent is what the replay reports.
//
// Not thread-safe. A failed call ends the replay: what was acknowledged before it stays, and the
// same file may be replayed from its start, because facts are idempotent.
#pragma once

#include "tools/cli/fact_keys.h"
#include "tools/cli/replay_batch.h"

#include <tallystick/result.h>

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

namespace tallystick {

inline constexpr int kBusyRetriesMax = 200;    // of one batch
inline constexpr int kBusyRetryDelayMs = 50;   // before each of them
inline constexpr size_t kScanPageUids = 1000;  // members asked for at a time

class ReplayTarget {
 public:
  // The two halves of the law for one fact key: the slot in the count record, and the cardinality
  // of the fact set. They differ by a counter part, or by drift.
  struct FactCount {
    int64_t record = 0;
    uint64_t facts = 0;
  };

  virtual ~ReplayTarget() = default;

  // Asked once per metric and entity type, before its first row is sent: is there a slot that
  // counts these facts? kInvalidArgument says which to configure.
  virtual Status CheckCounted(const NamedFactKey& key) = 0;
  // Starts a batch, which must stay as it is until FinishBatch has returned.
  virtual Status StartBatch(const ReplayBatch& batch) = 0;
  // Returns when every row of the batch is acknowledged: how many facts really changed. Groups that
  // were refused for lack of room are sent again for a while, then it is kBusy.
  virtual Result<uint64_t> FinishBatch() = 0;
  // Returns when every acknowledged change is folded and its record written.
  virtual Status Settle() = 0;
  // counts->size() becomes keys.size(). Fastest when keys of one metric and entity type are
  // neighbours.
  virtual Status ReadCounts(std::span<const FactKeys::Number> keys,
                            std::vector<FactCount>* counts) = 0;
  // Adds the members of the keys' fact sets to *uids, and their number to *members.
  virtual Status ReadMembers(std::span<const FactKeys::Number> keys,
                             std::unordered_set<uint64_t>* uids, uint64_t* members) = 0;
  // Writes everything and lets go.
  virtual Status Close() = 0;
};

}  // namespace tallystick
