#include "engine/recovery/verify_tail.h"

#include "engine/base/assert.h"
#include "engine/events/batch_codec.h"
#include "engine/storage/key_codec.h"

#include <algorithm>

namespace tallystick {
namespace {

constexpr size_t kNamesMax = 60000;  // of metrics and slots; an engine knows far fewer

Result<CheckpointRecord> ReadCheckpoint(Store* store, uint32_t partition, uint32_t shards) {
  std::string value;
  bool found = false;
  if (Status s = store->Get(ColumnFamily::kMeta, CheckpointKey(partition), &value, &found);
      !s.ok()) {
    return Fail(std::move(s));
  }
  if (found) {
    Result<CheckpointRecord> record = DecodeCheckpointRecord(partition, value);
    if (!record) return record;
    if (record->shard_sequences.size() != shards || record->wipe_sequences.size() != shards) {
      return Fail(StatusCode::kCorruption, "the checkpoint is of another number of shards");
    }
    return record;
  }
  CheckpointRecord beginning;
  beginning.partition = partition;
  beginning.shard_sequences.resize(shards);
  beginning.wipe_sequences.resize(shards);
  return beginning;
}

}  // namespace

Result<VerifyTail> VerifyTail::Read(Store* store, const DatabaseRecord& database,
                                    uint32_t partition) {
  TALLY_ASSERT(partition < database.partitions);
  const uint32_t shards = database.shards / database.partitions;
  Result<CheckpointRecord> checkpoint = ReadCheckpoint(store, partition, shards);
  if (!checkpoint) return Fail(std::move(checkpoint.error()));
  VerifyTail tail;
  tail.first_shard_ = partition * shards;
  tail.end_offset_ = checkpoint->offset;
  tail.sequences_ = checkpoint->shard_sequences;
  tail.seen_.resize(shards);
  tail.wipe_sequences_ = std::move(checkpoint->wipe_sequences);
  if (Status s = tail.ReadJournal(store, partition); !s.ok()) return Fail(std::move(s));
  for (uint32_t i = 0; i < shards; ++i) {
    if (tail.sequences_[i] >= checkpoint->shard_sequences[i]) continue;
    return Fail(StatusCode::kCorruption,
                "shard " + std::to_string(tail.first_shard_ + i) + " ends before its checkpoint");
  }
  return tail;
}

Status VerifyTail::ReadJournal(Store* store, uint32_t partition) {
  const uint64_t checkpoint = end_offset_;
  const std::string begin = JournalKey(partition, 0);
  const auto it = store->NewIterator(ColumnFamily::kJournal, begin, JournalKey(partition + 1, 0));
  it->SeekForPrev(
      JournalKey(partition, checkpoint));  // the batch that holds the checkpoint's offset
  if (!it->Valid() && it->status().ok()) it->Seek(begin);
  for (; it->Valid(); it->Next()) {
    BatchHeader header;
    std::vector<JournalEvent> events;
    if (Status s = DecodeBatch(it->key(), it->value(), &header, &events); !s.ok()) return s;
    TALLY_ASSERT(events.size() == header.events);
    if (header.end_offset() <= checkpoint) continue;
    if (header.first_offset > end_offset_ ||
        (header.first_offset < end_offset_ && end_offset_ != checkpoint)) {
      return Status::Error(StatusCode::kCorruption,
                           "the journal goes on from offset " + std::to_string(end_offset_) +
                               " at offset " + std::to_string(header.first_offset));
    }
    for (size_t i = 0; i < events.size(); ++i) {
      if (header.first_offset + i < checkpoint) continue;
      if (Status s = Add(events[i]); !s.ok()) return s;
    }
    end_offset_ = header.end_offset();
  }
  return it->status();
}

Status VerifyTail::Add(const JournalEvent& event) {
  if (event.shard < first_shard_ || event.shard - first_shard_ >= sequences_.size()) {
    return Status::Error(StatusCode::kCorruption, "the journal has an event of foreign shard " +
                                                      std::to_string(event.shard));
  }
  const uint32_t local = event.shard - first_shard_;
  uint64_t& sequence = sequences_[local];
  // The checkpoint's sequences may be newer than its offset; from the first event on, no gap.
  const bool contiguous =
      seen_[local] ? event.sequence == sequence + 1 : event.sequence <= sequence + 1;
  if (!contiguous) {
    return Status::Error(StatusCode::kCorruption, "the journal goes on from sequence " +
                                                      std::to_string(sequence) + " to " +
                                                      std::to_string(event.sequence) +
                                                      " in shard " + std::to_string(event.shard));
  }
  seen_[local] = true;
  sequence = event.sequence;
  ++events_;
  if (event.kind == EventKind::kWipe) {
    wipe_sequences_[local] = std::max(wipe_sequences_[local], event.sequence);
    return {};
  }
  if (event.etype.empty()) return {};  // plain keys have no counts to compare
  VerifyEvent kept;
  kept.sequence = event.sequence;
  kept.uid = event.uid;
  kept.delta = event.delta;
  kept.kind = event.kind;
  if (const auto known = metric_numbers_.find(event.metric); known != metric_numbers_.end()) {
    kept.metric = known->second;
  } else {
    if (metrics_.size() == kNamesMax) {
      return Status::Error(StatusCode::kCorruption, "the journal names too many metrics");
    }
    kept.metric = static_cast<uint16_t>(metrics_.size());
    metrics_.emplace_back(event.metric);
    metric_numbers_.emplace(metrics_.back(), kept.metric);
  }
  if (!event.payload.empty()) {
    kept.payload = static_cast<uint32_t>(payloads_.size());
    payloads_.emplace_back(event.payload);
  }
  by_entity_[EntityStoreKey(event.shard, event.etype, event.eid)].push_back(kept);
  return {};
}

}  // namespace tallystick
