#include "tools/cli/replay.h"

#include "tools/cli/text.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <set>
#include <unordered_set>

namespace tallystick {
namespace {

constexpr size_t kReadBackKeys = 500;  // per round trip

// Fills batches from the file. The row that did not fit into one batch begins the next.
class BatchFiller {
 public:
  BatchFiller(InteractionReader* reader, FactKeys* keys, ReplayTarget* target, size_t batch_rows)
      : reader_(*reader), keys_(*keys), target_(*target), batch_rows_(batch_rows) {}

  // An empty batch: the end, or (with status() not OK) a row that stops the replay.
  void Fill(ReplayBatch* batch) {
    batch->Clear();
    if (has_left_over_) {
      const bool added = batch->Add(left_over_.key, left_over_.uid, left_over_.set);
      assert(added);
      static_cast<void>(added);
      has_left_over_ = false;
    }
    while (status_.ok() && batch->rows() < batch_rows_) {
      Interaction row;
      Result<bool> more = reader_.Next(&row);
      if (!more) status_ = std::move(more.error());
      if (!status_.ok() || !*more) return;
      bool is_new = false;
      const FactKeys::Number key = keys_.Intern(row.metric, row.etype, row.eid, &is_new);
      if (is_new && groups_.insert(std::string(keys_[key].group())).second) {
        new_groups_.push_back(key);
      }
      if (!batch->Add(key, row.uid, row.set)) {
        left_over_ = {key, row.uid, row.set};
        has_left_over_ = true;
        return;
      }
    }
  }

  // Asks the target about metrics and entity types that the last batch brought.
  Status CheckNewGroups() {
    for (const FactKeys::Number key : new_groups_) {
      if (Status status = target_.CheckCounted(keys_[key]); !status.ok()) return status;
    }
    new_groups_.clear();
    return {};
  }

  const Status& status() const { return status_; }

 private:
  struct LeftOver {
    FactKeys::Number key = 0;
    uint64_t uid = 0;
    bool set = false;
  };
  InteractionReader& reader_;
  FactKeys& keys_;
  ReplayTarget& target_;
  const size_t batch_rows_;
  bool has_left_over_ = false;
  LeftOver left_over_;
  std::set<std::string> groups_;
  std::vector<FactKeys::Number> new_groups_;
  Status status_;
};

// Sends every row. While the target works on one batch, the next is read.
Status SendAll(BatchFiller* filler, ReplayTarget* target, InteractionReader* reader,
               Progress* progress, ReplayOutcome* outcome) {
  ReplayBatch batches[2];
  ReplayBatch* current = &batches[0];
  ReplayBatch* next = &batches[1];
  filler->Fill(current);
  while (current->rows() > 0) {
    if (Status status = filler->CheckNewGroups(); !status.ok()) return status;
    if (Status status = target->StartBatch(*current); !status.ok()) return status;
    filler->Fill(next);
    Result<uint64_t> changes = target->FinishBatch();
    if (!changes) return std::move(changes.error());
    outcome->acknowledged_rows += current->rows();
    outcome->report.changes += *changes;
    progress->Update(reader->progress(), outcome->acknowledged_rows);
    std::swap(current, next);
  }
  return filler->status();
}

void NoteMismatch(const NamedFactKey& key, const ReplayTarget::FactCount& count,
                  ReplayOutcome* outcome) {
  ++outcome->mismatches;
  if (outcome->first_mismatches.size() == kMismatchesListedMax) return;
  outcome->first_mismatches.push_back(Quoted(key.text()) + ": the count record says " +
                                      std::to_string(count.record) + ", its facts are " +
                                      std::to_string(count.facts));
}

// Asks the target for everything that the report says.
Status ReadBack(const FactKeys& keys, ReplayTarget* target, ReplayOutcome* outcome) {
  std::vector<FactKeys::Number> order(keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<FactKeys::Number>(i);
  std::stable_sort(order.begin(), order.end(), [&](FactKeys::Number a, FactKeys::Number b) {
    return keys[a].group() < keys[b].group();
  });
  ReportBuilder builder;
  std::unordered_set<uint64_t> uids;
  std::vector<ReplayTarget::FactCount> counts;
  for (size_t begin = 0; begin < order.size(); begin += kReadBackKeys) {
    const size_t n = std::min(kReadBackKeys, order.size() - begin);
    const std::span<const FactKeys::Number> some(order.data() + begin, n);
    if (Status status = target->ReadCounts(some, &counts); !status.ok()) return status;
    assert(counts.size() == n);
    uint64_t facts = 0;
    for (size_t i = 0; i < n; ++i) {
      const NamedFactKey& key = keys[some[i]];
      if (counts[i].record < 0 || static_cast<uint64_t>(counts[i].record) != counts[i].facts) {
        NoteMismatch(key, counts[i], outcome);
      }
      builder.AddCount(key.metric(), key.etype(), key.eid(), counts[i].record);
      facts += counts[i].facts;
    }
    uint64_t members = 0;
    if (Status status = target->ReadMembers(some, &uids, &members); !status.ok()) return status;
    if (members != facts) {
      return Status::Error(StatusCode::kCorruption, "the cardinalities of " + std::to_string(n) +
                                                        " fact sets add up to " +
                                                        std::to_string(facts) + ", but they have " +
                                                        std::to_string(members) + " members");
    }
    outcome->report.facts += facts;
  }
  outcome->report.users = uids.size();
  builder.Finish(&outcome->report);
  return {};
}

}  // namespace

ReplayOutcome Replay(InteractionReader* reader, FactKeys* keys, ReplayTarget* target,
                     size_t batch_rows, Progress* progress) {
  assert(batch_rows >= 1 && batch_rows <= kBatchRowsMax);
  ReplayOutcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  BatchFiller filler(reader, keys, target, batch_rows);
  outcome.status = SendAll(&filler, target, reader, progress, &outcome);
  progress->Finish();
  outcome.report.rows = outcome.acknowledged_rows;
  outcome.report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (outcome.status.ok()) outcome.status = target->Settle();
  if (outcome.status.ok()) outcome.status = ReadBack(*keys, target, &outcome);
  return outcome;
}

}  // namespace tallystick
