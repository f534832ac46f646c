// EngineImpl: wires the parts and answers the public interface. What it decides itself is only how
// long a call waits, and what runs in the background.
#pragma once

#include "engine/committer.h"
#include "engine/disk_sync.h"
#include "engine/environment.h"
#include "engine/persister.h"
#include "engine/recovery/engine_state.h"
#include "engine/recovery/entity_loader.h"
#include "engine/recovery/open_directory.h"
#include "engine/recovery/replay.h"
#include "engine/write_path.h"

#include <tallystick/engine.h>

#include <memory>
#include <string>
#include <vector>

namespace tallystick {

class EngineImpl final : public Engine {
 public:
  EngineImpl(const Options& options, const Environment& environment, Log log,
             OpenedDirectory directory, uint64_t opened_at_us);
  ~EngineImpl() override;

  Status Close() override;
  Status Apply(std::span<const FactOp> ops, std::span<FactOutcome> outcomes,
               const WriteOptions& options, Ticket* ticket) override;
  Result<bool> Move(const FactOp& take, const FactOp& put, const WriteOptions& options,
                    Ticket* ticket) override;
  Result<uint64_t> ClearRange(const FactKey& key, UidRange range, const WriteOptions& options,
                              Ticket* ticket) override;
  Result<uint64_t> Cardinality(const FactKey& key, UidRange range, Ticket* ticket) override;
  Result<std::optional<uint64_t>> Scan(const FactKey& key, uint64_t from, size_t limit,
                                       std::vector<uint64_t>* uids, Ticket* ticket) override;
  Result<std::optional<uint64_t>> ScanTexts(const FactKey& key, uint64_t from, size_t limit,
                                            std::vector<std::string>* texts,
                                            Ticket* ticket) override;
  Result<std::string> ReadBits(const FactKey& key, uint64_t first, size_t bytes,
                               Ticket* ticket) override;
  Result<std::optional<uint64_t>> Last(const FactKey& key, UidRange range, Ticket* ticket) override;
  Result<SetInfo> GetSetInfo(const FactKey& key, Ticket* ticket) override;
  Result<std::optional<uint64_t>> FirstClear(const FactKey& key, UidRange range,
                                             Ticket* ticket) override;
  Result<std::vector<std::optional<int64_t>>> BitField(const FactKey& key,
                                                       std::span<const BitFieldOp> ops,
                                                       SetLabels labels,
                                                       const WriteOptions& options,
                                                       Ticket* ticket) override;
  Result<BulkOutcome> ReplaceRange(const FactKey& key, UidRange range,
                                   std::span<const uint64_t> members, SetLabels labels,
                                   const WriteOptions& options, Ticket* ticket) override;
  Result<uint64_t> StoreBits(BitOp op, std::span<const BitSource> sources, const FactKey& target,
                             UidRange range, SetLabels labels, const WriteOptions& options,
                             Ticket* ticket) override;
  Status Sample(const FactKey& key, uint64_t count, bool distinct, Members* members,
                Ticket* ticket) override;
  Status TakeRandom(const FactKey& key, uint64_t count, Members* members,
                    const WriteOptions& options, Ticket* ticket) override;
  Result<std::optional<uint64_t>> Combine(SetOp op, std::span<const FactKey> sources, uint64_t from,
                                          size_t limit, std::vector<uint64_t>* uids,
                                          Ticket* ticket) override;
  Result<std::optional<uint64_t>> CombineTexts(SetOp op, std::span<const FactKey> sources,
                                               uint64_t from, size_t limit,
                                               std::vector<std::string>* texts,
                                               Ticket* ticket) override;
  Result<uint64_t> StoreCombined(SetOp op, std::span<const FactKey> sources, const FactKey& target,
                                 SetLabels labels, const WriteOptions& options,
                                 Ticket* ticket) override;
  Result<Exported> Export(const FactKey& key, uint64_t from, size_t bytes_max,
                          Ticket* ticket) override;
  Result<BulkOutcome> Import(const FactKey& key, std::string_view image, ImportMode mode,
                             SetLabels labels, const WriteOptions& options,
                             Ticket* ticket) override;
  std::string_view IdNamespace(std::string_view etype) const override;
  Status GiveOrdinals(std::string_view etype, std::span<const std::string_view> ids,
                      std::span<uint64_t> ordinals) override;
  Status FindOrdinals(std::string_view etype, std::span<const std::string_view> ids,
                      std::span<uint64_t> ordinals) override;
  Status ReadIds(std::string_view etype, std::span<const uint64_t> ordinals,
                 std::vector<std::string>* ids) override;
  Result<Counts> GetCounts(const EntityKey& entity, Ticket* ticket) override;
  Status GetCounts(std::span<const EntityKey> entities, std::vector<Counts>* out,
                   Ticket* ticket) override;
  Result<std::string> GetRecord(const EntityKey& entity, Ticket* ticket) override;
  Result<int64_t> AddToCounter(const EntityKey& entity, std::string_view slot, int64_t delta,
                               const WriteOptions& options, Ticket* ticket) override;
  Status Sync(std::span<const EntityKey> entities, int32_t timeout_ms) override;
  Result<Verification> Verify(const EntityKey& entity) override;
  Result<RebuildOutcome> Rebuild(const EntityKey& entity, const WriteOptions& options) override;
  const std::vector<SlotSpec>& Slots(std::string_view etype) const override;
  Result<PlainSetOutcome> PlainSet(std::string_view key, std::string_view value,
                                   const PlainSetOptions& set, const WriteOptions& options,
                                   Ticket* ticket) override;
  Result<std::optional<std::string>> PlainGet(std::string_view key, Ticket* ticket) override;
  Result<PlainInfo> GetPlainInfo(std::string_view key, Ticket* ticket) override;
  Result<bool> PlainDelete(std::string_view key, const WriteOptions& options,
                           Ticket* ticket) override;
  Result<uint64_t> List(uint64_t cursor, size_t hint, const ListFilter& filter,
                        std::vector<Listed>* out) override;
  Status Wipe() override;
  Status Wait(const Ticket& ticket, WaitFor wait) override;
  void OnReady(const Ticket& ticket, WaitFor wait,
               std::function<void(const Status&)> done) override;
  Status Checkpoint() override;
  Durability durability() const override { return state_.durability; }
  void SetDurability(Durability durability) override;
  Stats GetStats() const override;

 private:
  // Calls `run` with the set (null when it is empty or missing) and whether the key is a live plain
  // string instead; chunks that `absent` names are loaded first.
  struct SetView {
    WritePath::Located& at;
    const MetricSet* set;
    const PlainState* plain;  // of a plain key that lives
  };
  Status ReadSet(const FactKey& key, Ticket* ticket,
                 const std::function<std::optional<uint64_t>(const FactSet&)>& absent,
                 const std::function<Status(const SetView&)>& run);

  // A page of a set's members, and whether the first one's chunk is crowded (engine_algebra.cc).
  struct SetPage {
    std::vector<uint64_t> uids;
    std::optional<uint64_t> next;
    bool crowded = false;
  };
  Status ReadPage(const FactKey& key, uint64_t from, SetPage* page, Ticket* ticket);
  Status ReadChunkBits(const FactKey& key, uint64_t chunk, ChunkBits* bits, Ticket* ticket);
  Status Filter(const FactKey& key, bool members, std::vector<uint64_t>* uids, Ticket* ticket);
  Result<std::optional<uint64_t>> CombinePage(SetOp op, std::span<const FactKey> sources,
                                              uint64_t from, std::vector<uint64_t>* uids,
                                              Ticket* ticket);
  Result<IdDictionary*> IdsOf(std::string_view etype) const;  // kInvalidArgument: it has none
  // Texts of a plain set and those of a set operation (engine_texts.cc).
  Result<uint64_t> CountTexts(const FactKey& key, Ticket* ticket);
  Result<std::optional<uint64_t>> ReadTexts(const FactKey& key, uint64_t from, size_t limit,
                                            std::vector<TextSet::Found>* found, Ticket* ticket);
  Status FilterTexts(const FactKey& key, bool members, std::vector<TextSet::Found>* found,
                     Ticket* ticket);
  Result<std::optional<uint64_t>> CombineTextPage(SetOp op, std::span<const FactKey> sources,
                                                  uint64_t from, std::vector<std::string>* texts,
                                                  Ticket* ticket);
  Status SampleUids(const FactKey& key, std::span<const uint64_t> ranks, uint64_t members,
                    bool distinct, std::vector<uint64_t>* uids, Ticket* ticket);
  Status SampleTexts(const FactKey& key, std::span<const uint64_t> ranks, bool distinct,
                     std::vector<std::string>* texts, Ticket* ticket);
  // A copy of a fact set, read by pages (engine_transfer.cc).
  Status CopySet(const FactKey& key, FactSet* copy, Ticket* ticket);
  // The members of target within range become those given, each plus range.first, or (kKeep, with
  // the whole range) get those given in addition: one event, and what is long is done without the
  // shard's lock. `target` is no plain key.
  enum class Others : uint8_t { kKeep, kRemove };
  Result<BulkOutcome> ReplaceAtOnce(const FactKey& target, FactSet members, UidRange range,
                                    Others others, SetLabels labels, int32_t busy_timeout_ms,
                                    Ticket* own);

  // Waits for what a call changed, as its options say. `own` holds the call's own changes.
  Status Finish(const WriteOptions& options, const Ticket& own, Ticket* callers);
  WaitFor Resolve(WaitFor wait) const;
  Status ListEntity(Shard& shard, Entity* entity, bool with_chunks, std::vector<Listed>* out)
      TALLY_REQUIRES(shard.mutex);
  Counts CountsOf(const WritePath::Located& at) const;
  Status PersistAll();

  void GoOnAfterLoss();
  void StartBackground();
  void StopBackground();
  uint64_t RunAggregator(uint32_t index);
  uint64_t RunMaintenance();
  uint64_t RunWarmUp();

  struct Aggregator {
    std::vector<uint32_t> partitions;
    uint64_t flushed_at_us = 0;
    uint64_t commit_at_us = 0;  // events were seen in a ring; 0: not
    bool backlog = false;
    std::unique_ptr<BackgroundTask> task;
  };

  const Environment environment_;
  std::unique_ptr<DirectoryLock> directory_lock_;
  EngineState state_;
  Replay replay_;
  EntityLoader loader_;
  Committer committer_;
  DiskSync disk_sync_;
  WritePath write_path_;
  Persister persister_;

  std::vector<std::unique_ptr<Aggregator>> aggregators_;
  std::unique_ptr<BackgroundTask> maintenance_;
  std::unique_ptr<BackgroundTask> warm_up_;
  uint64_t opened_at_us_ = 0;
  uint64_t checkpointed_at_us_ = 0;
  uint64_t trimmed_at_us_ = 0;
  uint64_t advanced_at_us_ = 0;
  size_t warm_up_ids_ = 0;
  uint32_t warm_up_shard_ = 0;
  uint64_t warm_up_cursor_ = 0;
  std::atomic<bool> closed_{false};
  std::atomic<uint32_t> shards_warm_{0};

  mutable Mutex stats_mutex_;
  mutable Stats stats_ TALLY_GUARDED_BY(stats_mutex_);
  mutable uint64_t stats_at_us_ TALLY_GUARDED_BY(stats_mutex_) = 0;
  mutable uint64_t stats_cost_us_ TALLY_GUARDED_BY(stats_mutex_) = 0;
};

}  // namespace tallystick
