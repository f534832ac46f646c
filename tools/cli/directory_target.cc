#include "tools/cli/directory_target.h"

#include "tools/cli/fact_slots.h"

#include <cassert>
#include <chrono>
#include <optional>
#include <thread>

namespace tallystick {

DirectoryTarget::DirectoryTarget(std::unique_ptr<Engine> engine, const FactKeys* keys)
    : engine_(std::move(engine)), keys_(*keys) {}

Status DirectoryTarget::CheckCounted(const NamedFactKey& key) {
  if (FindFactSlot(engine_->Slots(key.etype()), key.metric())) return {};
  return Status::Error(StatusCode::kInvalidArgument, NoFactSlotMessage(key.metric(), key.etype()));
}

Status DirectoryTarget::StartBatch(const ReplayBatch& batch) {
  assert(ops_.empty());
  for (const ReplayBatch::Group& group : batch.groups()) {
    FactOp op;
    op.kind = group.set ? FactOpKind::kSet : FactOpKind::kClear;
    op.key = keys_[group.key].fact_key();
    for (const uint64_t uid : group.uids) {
      op.uid = uid;
      ops_.push_back(op);
    }
  }
  return {};
}

Result<uint64_t> DirectoryTarget::FinishBatch() {
  uint64_t changes = 0;
  for (int retries = 0;; ++retries) {
    outcomes_.assign(ops_.size(), FactOutcome());
    if (Status status = engine_->Apply(ops_, outcomes_); !status.ok())
      return Fail(std::move(status));
    std::vector<FactOp> refused;
    for (size_t i = 0; i < ops_.size(); ++i) {
      const StatusCode error = outcomes_[i].error;
      if (error == StatusCode::kOk) {
        if (outcomes_[i].changed()) ++changes;
      } else if (error == StatusCode::kBusy || error == StatusCode::kLoading) {
        refused.push_back(ops_[i]);
      } else {
        return Fail(error, "the engine refused a fact of " + std::string(ops_[i].key.metric) + ":" +
                               std::string(ops_[i].key.etype) + ": " +
                               std::string(StatusCodeName(error)));
      }
    }
    ops_ = std::move(refused);
    if (ops_.empty()) return changes;
    if (retries == kBusyRetriesMax) {
      return Fail(StatusCode::kBusy, "the engine goes on refusing writes: busy");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kBusyRetryDelayMs));
  }
}

Status DirectoryTarget::Settle() {
  return engine_->Sync();
}

Status DirectoryTarget::ReadCounts(std::span<const FactKeys::Number> keys,
                                   std::vector<FactCount>* counts) {
  counts->clear();
  std::vector<EntityKey> entities;
  for (const FactKeys::Number key : keys) entities.push_back(keys_[key].fact_key().entity());
  std::vector<Counts> records;
  if (Status status = engine_->GetCounts(entities, &records); !status.ok()) return status;
  for (size_t i = 0; i < keys.size(); ++i) {
    const NamedFactKey& key = keys_[keys[i]];
    const auto slot = FindFactSlot(engine_->Slots(key.etype()), key.metric());
    assert(slot.has_value());
    Result<uint64_t> facts = engine_->Cardinality(key.fact_key());
    if (!facts) return std::move(facts.error());
    counts->push_back({records[i].values[*slot], *facts});
  }
  return {};
}

Status DirectoryTarget::ReadMembers(std::span<const FactKeys::Number> keys,
                                    std::unordered_set<uint64_t>* uids, uint64_t* members) {
  std::vector<uint64_t> page;
  for (const FactKeys::Number key : keys) {
    std::optional<uint64_t> from = 0;
    while (from) {
      page.clear();
      auto next = engine_->Scan(keys_[key].fact_key(), *from, kScanPageUids, &page);
      if (!next) return std::move(next.error());
      uids->insert(page.begin(), page.end());
      *members += page.size();
      from = *next;
    }
  }
  return {};
}

Status DirectoryTarget::Close() {
  return engine_->Close();
}

}  // namespace tallystick
