// The replay itself: rows from a file, in commuting batches, to a target; then the answers of the
// target, checked against each other.
#pragma once

#include "tools/cli/interaction.h"
#include "tools/cli/progress.h"
#include "tools/cli/replay_report.h"
#include "tools/cli/replay_target.h"

#include <tallystick/result.h>

#include <string>
#include <vector>

namespace tallystick {

inline constexpr size_t kBatchRowsMax = 65536;
inline constexpr size_t kMismatchesListedMax = 20;

struct ReplayOutcome {
  ReplayReport report;
  uint64_t acknowledged_rows = 0;  // also after a failure: all rows of the file up to there
  Status status;                   // why it stopped early; the report is then incomplete
  uint64_t mismatches = 0;         // fact keys whose record, cardinality or members disagree
  std::vector<std::string> first_mismatches;  // described, at most kMismatchesListedMax
};

// Reads `reader` to its end. A malformed row ends the replay after the good rows before it were
// sent. `keys` is the table that `target` was made with; `batch_rows` is 1 to kBatchRowsMax.
ReplayOutcome Replay(InteractionReader* reader, FactKeys* keys, ReplayTarget* target,
                     size_t batch_rows, Progress* progress);

}  // namespace tallystick
