#include "engine/persister.h"

#include "engine/base/assert.h"
#include "engine/base/fault_point.h"
#include "engine/counts/fold.h"
#include "engine/facts/entity_image.h"
#include "engine/recovery/journal_reader.h"
#include "engine/storage/key_codec.h"

#include <algorithm>

namespace tallystick {
namespace {

constexpr size_t kImagesPerSlice = 512;
constexpr size_t kSliceBytesMax = 4u << 20;
constexpr uint64_t kTailEventsLong = 4096;      // of a partition: worth a flush to get rid of
constexpr uint64_t kImageBytesLong = 8u << 20;  // in the WAL: worth a flush of everything

std::vector<DirtyItem> PopFront(std::deque<DirtyItem>* queue, size_t max) {
  const size_t n = std::min(max, queue->size());
  std::vector<DirtyItem> items(queue->begin(), queue->begin() + static_cast<std::ptrdiff_t>(n));
  queue->erase(queue->begin(), queue->begin() + static_cast<std::ptrdiff_t>(n));
  return items;
}

}  // namespace

void Persister::TakeHealed(Partition& p) {
  MutexLock lock(p.heal_mutex);
  for (const HealItem& item : p.heal_queue) {
    if (item.record) p.record_queue.push_back(DirtyItem{item.entity, p.next_offset});
    if (item.image) p.snapshot_queue.push_back(DirtyItem{item.entity, p.next_offset});
  }
  p.heal_queue.clear();
}

// What a damaged entity has in the journal's tail must stay replayable until somebody mends it.
void Persister::KeepForDamaged(Partition& p, const DirtyItem& item) {
  MutexLock lock(p.consumer);
  p.damaged_offset = std::min(p.damaged_offset, item.first_offset);
}

Result<size_t> Persister::FlushRecords(Partition& p, size_t max) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  if (p.replay.load(std::memory_order_acquire) != ReplayState::kReady || state_->read_only())
    return 0;
  MutexLock persist(p.persist);
  std::vector<DirtyItem> items;
  size_t left = 0;
  {
    MutexLock lock(p.consumer);
    TakeHealed(p);
    items = PopFront(&p.record_queue, max);
    left = p.record_queue.size();
  }
  if (items.empty()) return 0;
  struct Written {
    Entity* entity;
    CountRecord record;
  };
  std::vector<Written> written;
  const auto batch = state_->store->NewBatch();
  uint64_t saturated = 0;
  for (const DirtyItem& item : items) {
    Entity& entity = *item.entity;
    Shard& shard = state_->shard(entity.shard());
    const EtypeInfo& etype = state_->catalog.etype(entity.etype());
    MutexLock lock(shard.mutex);
    if (Status s = loader_->EnsureResident(shard, &entity); !s.ok()) {
      lock.Release();
      if (s.code() !=
          StatusCode::kCorruption) {  // an I/O error: nothing is lost, try in the next window
        MutexLock consumer(p.consumer);
        p.record_queue.push_front(item);
        continue;
      }
      KeepForDamaged(p, item);
      continue;
    }
    Activity& activity = Activity::Of(entity);
    const CountRecord record = RecordOf(etype, entity, activity.last_sequence);
    activity.in_record_queue = false;
    entity.set_stored(true);
    ++activity.holds;
    const std::string key = EntityStoreKey(entity.shard(), etype.name, entity.eid());
    batch->Put(ColumnFamily::kCounts, key, EncodeCountRecord(key, record));
    uint32_t clamped = 0;
    static_cast<void>(EncodeSdsImage(*etype.slots, record.values, &clamped));
    saturated += clamped;
    written.push_back(Written{&entity, record});
  }
  if (written.empty()) return left;
  Status status = TALLY_FAULT_POINT("flush.before_write")
                      ? Status::Error(StatusCode::kIoError, "fault point flush.before_write")
                      : state_->store->WriteUnlogged(batch.get());
  unflushed_ = true;
  static_cast<void>(TALLY_FAULT_POINT("flush.after_write"));
  if (!status.ok())
    state_->EnterReadOnly("a record write failed (" + std::string(status.message()) + ")");
  for (const Written& w : written) {
    Shard& shard = state_->shard(w.entity->shard());
    MutexLock lock(shard.mutex);
    Activity& activity = *w.entity->activity();
    --activity.holds;
    if (!status.ok()) continue;
    activity.record_healed = false;
    if (Bucket& bucket = activity.bucket; bucket.is_open()) {
      bucket.ForEach([&](uint8_t slot, SlotSums& sums) { sums.recorded = w.record.values[slot]; });
      if (bucket.sequence() == w.record.sequence && activity.pins == 0) bucket.Close();
    }
    Settle(*state_, shard, w.entity);
  }
  if (!status.ok()) return Fail(status);
  state_->counters.records_written.fetch_add(written.size(), std::memory_order_relaxed);
  state_->counters.counts_saturated.fetch_add(saturated, std::memory_order_relaxed);
  return left;
}

bool Persister::EncodeImage(Shard& shard, Entity& entity, StoreBatch* logged,
                            StoreBatch* unlogged) {
  const EtypeInfo& etype = state_->catalog.etype(entity.etype());
  const bool plain = etype.id == kPlainEtype;
  const EidText eid = entity.eid();
  const std::string key = EntityStoreKey(entity.shard(), etype.name, eid);
  const auto chunk_key = [&](uint8_t metric, uint64_t chunk) {
    return ChunkStoreKey(entity.shard(), etype.name, eid, state_->catalog.metric(metric), chunk);
  };
  EntityImage image;
  image.sequence = shard.sequence;
  struct Pending {
    std::vector<uint64_t> changed, stale;
  };
  std::vector<Pending> pending(entity.set_count());
  PlainState* const value = entity.plain();
  TextSet* const texts = value != nullptr ? value->texts.get() : nullptr;
  Pending pending_texts;
  if (texts != nullptr) texts->TakePending(&pending_texts.changed, &pending_texts.stale);
  bool one_key = value == nullptr || value->orphan_chunks.empty();
  one_key = one_key && pending_texts.changed.empty() && pending_texts.stale.empty();
  for (size_t i = 0; i < entity.set_count(); ++i) {
    entity.set(i).set.TakePending(&pending[i].changed, &pending[i].stale);
    one_key = one_key && pending[i].changed.empty() && pending[i].stale.empty();
  }
  // The header and its chunks lie in two column families: only the log keeps them together.
  StoreBatch* batch = one_key ? unlogged : logged;
  // Deletes before puts: a chunk may be gone and there again.
  if (value != nullptr) {
    for (const auto& [metric, chunk] : value->orphan_chunks) {
      batch->Delete(ColumnFamily::kSnapshots, chunk_key(metric, chunk));
    }
    value->orphan_chunks.clear();
    image.plain = value->type;
    image.expire_at_ms = value->expire_at_ms;
    image.plain_bytes = value->bits_bytes;
    image.plain_value = value->value;
  }
  std::vector<std::string> headers(entity.set_count());
  std::string bytes;
  const auto put_chunk = [&](const std::string& stored_key) {
    batch->Put(ColumnFamily::kSnapshots, stored_key,
               EncodeChunkRecord(stored_key, image.sequence, bytes));
  };
  std::string text_header;
  for (const uint64_t page : pending_texts.stale) {
    batch->Delete(ColumnFamily::kSnapshots, chunk_key(kTextMetric, page));
  }
  for (const uint64_t page : pending_texts.changed) {
    bytes.clear();
    texts->EncodePage(page, &bytes);
    put_chunk(chunk_key(kTextMetric, page));
  }
  if (texts != nullptr && texts->empty()) {
    value->texts.reset();
  } else if (texts != nullptr) {
    texts->EncodeHeader(&text_header);
    image.texts = text_header;
  }
  for (size_t i = 0; i < entity.set_count(); ++i) {
    MetricSet& set = entity.set(i);
    for (const uint64_t chunk : pending[i].stale) {
      batch->Delete(ColumnFamily::kSnapshots, chunk_key(set.metric, chunk));
    }
    if (set.set.empty()) continue;
    set.set.EncodeHeader(&headers[i]);
    for (const uint64_t chunk : pending[i].changed) {
      bytes.clear();
      set.set.EncodeChunk(chunk, &bytes);
      put_chunk(chunk_key(set.metric, chunk));
    }
    image.sets.push_back(
        EntityImage::Set{state_->catalog.metric(set.metric), set.labels(), headers[i]});
  }
  for (const CounterPart& part : entity.counters()) {
    if (part.value == 0) continue;
    image.counter_parts.push_back(
        EntityImage::CounterPart{state_->catalog.metric(part.slot_name), part.value});
  }
  batch->Put(plain ? ColumnFamily::kKv : ColumnFamily::kSets, key, EncodeEntityImage(key, image));
  entity.RemoveEmptySets();
  entity.RemoveZeroCounters();
  Activity& activity = Activity::Of(entity);
  activity.in_snapshot_queue = false;
  activity.snapshot_sequence = image.sequence;
  entity.set_stored(true);
  return entity.Blank();
}

Status Persister::WriteImageSlice(Partition& p,
                                  std::vector<DirtyItem> items) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  const auto logged = state_->store->NewBatch();
  const auto unlogged = state_->store->NewBatch();
  std::vector<Entity*> written;
  std::vector<Tombstone> blank;
  Status status;
  size_t next = 0;
  for (; next < items.size() && logged->bytes() + unlogged->bytes() < kSliceBytesMax; ++next) {
    Entity& entity = *items[next].entity;
    Shard& shard = state_->shard(entity.shard());
    MutexLock lock(shard.mutex);
    if (Status s = loader_->EnsureResident(shard, &entity); !s.ok()) {
      lock.Release();
      if (s.code() != StatusCode::kCorruption) {
        status = std::move(s);
        break;
      }
      KeepForDamaged(p, items[next]);
      continue;
    }
    if (EncodeImage(shard, entity, logged.get(), unlogged.get())) {
      blank.push_back(
          Tombstone{entity.etype(), entity.hash(), 0, std::string(entity.eid().view())});
    }
    ++Activity::Of(entity).holds;
    written.push_back(&entity);
  }
  if (!written.empty()) {
    // The images include events that may still be in the ring: the journal comes first.
    const uint32_t self[] = {p.index};
    Status write = committer_->Commit(self);
    if (write.ok() && TALLY_FAULT_POINT("snapshot.before_write")) {
      write = Status::Error(StatusCode::kIoError, "fault point snapshot.before_write");
    }
    image_bytes_logged_.fetch_add(logged->bytes(), std::memory_order_relaxed);
    if (write.ok()) write = state_->store->Write(logged.get());
    if (write.ok()) write = state_->store->WriteUnlogged(unlogged.get());
    unflushed_ = true;
    static_cast<void>(TALLY_FAULT_POINT("snapshot.after_write"));
    // What TakePending forgot is only in this batch: without it the images cannot go on.
    if (!write.ok()) {
      state_->EnterReadOnly("an image write failed (" + std::string(write.message()) + ")");
      status = std::move(write);
    }
  }
  {
    MutexLock lock(p.consumer);
    for (Tombstone& t : blank) t.offset = p.next_offset;
    // What the slice did not reach goes back, in order.
    p.snapshot_queue.insert(p.snapshot_queue.begin(),
                            items.begin() + static_cast<std::ptrdiff_t>(next), items.end());
  }
  if (!blank.empty()) {
    MutexLock lock(p.tombstone_mutex);
    for (Tombstone& t : blank) p.tombstones.push_back(std::move(t));
  }
  for (Entity* entity : written) {
    Shard& shard = state_->shard(entity->shard());
    MutexLock lock(shard.mutex);
    --entity->activity()->holds;
    Settle(*state_, shard, entity);
  }
  state_->counters.snapshots_written.fetch_add(written.size(), std::memory_order_relaxed);
  return status;
}

Status Persister::WriteImages(Partition& p) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  uint64_t end_offset = 0;
  {
    MutexLock lock(p.consumer);
    end_offset = p.next_offset;
  }
  p.bytes_since_snapshot.store(0, std::memory_order_relaxed);
  for (;;) {
    std::vector<DirtyItem> items;
    {
      MutexLock lock(p.consumer);
      TakeHealed(p);
      // Only what was dirty when this began, so that it ends under load.
      if (!p.snapshot_queue.empty() && p.snapshot_queue.front().first_offset <= end_offset) {
        items = PopFront(&p.snapshot_queue, kImagesPerSlice);
      }
    }
    if (items.empty()) return Status();
    if (Status s = WriteImageSlice(p, std::move(items)); !s.ok()) return s;
  }
}

Status Persister::Checkpoint(std::span<Partition* const> partitions,
                             bool advance) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  std::vector<std::pair<Partition*, CheckpointRecord>> reached;
  for (Partition* p : partitions) {
    if (state_->read_only()) return state_->ReadOnlyError();
    if (p->replay.load(std::memory_order_acquire) != ReplayState::kReady) continue;
    MutexLock persist(p->persist);
    if (Status s = WriteImages(*p); !s.ok()) return s;
    CheckpointRecord record = Reached(*p);
    TALLY_ASSERT(record.offset >= p->checkpoint_offset);
    const uint64_t events = record.offset - p->checkpoint_offset;
    if (p->checkpoint_stale || events >= kTailEventsLong || (advance && events > 0)) {
      reached.emplace_back(p, std::move(record));
    }
  }
  if (reached.empty()) return Status();
  // Whatever these offsets leave behind was written before they were taken: it is durable now.
  if (Status s = FlushStore(); !s.ok()) return s;
  for (const auto& [p, record] : reached) {
    MutexLock persist(p->persist);
    if (record.offset < p->checkpoint_offset) continue;  // another thread came further meanwhile
    if (Status s = WriteCheckpoint(*p, record); !s.ok()) return s;
    if (Status s = RemoveTombstones(*p); !s.ok()) return s;
  }
  return Status();
}

Status Persister::FlushStore() {
  Status status;
  if (image_bytes_logged_.load(std::memory_order_relaxed) >= kImageBytesLong) {
    image_bytes_logged_ = 0;
    unflushed_ = false;
    status = state_->store->Flush();
  } else if (unflushed_.exchange(false)) {
    for (const ColumnFamily cf : {ColumnFamily::kCounts, ColumnFamily::kSets, ColumnFamily::kKv}) {
      if (status.ok()) status = state_->store->FlushFamily(cf);
    }
  }
  if (!status.ok()) {
    state_->EnterReadOnly("a flush failed (" + std::string(status.message()) + ")");
  }
  return status;
}

CheckpointRecord Persister::Reached(Partition& p) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  CheckpointRecord record;
  record.partition = p.index;
  MutexLock lock(p.consumer);
  record.offset = p.next_offset;
  if (!p.record_queue.empty()) {
    record.offset = std::min(record.offset, p.record_queue.front().first_offset);
  }
  if (!p.snapshot_queue.empty()) {
    record.offset = std::min(record.offset, p.snapshot_queue.front().first_offset);
  }
  record.offset = std::min(record.offset, p.damaged_offset);
  record.shard_sequences = p.consumed_sequence;
  for (uint32_t i = 0; i < p.shard_count; ++i) {
    Shard& shard = state_->shard(p.first_shard + i);
    MutexLock shard_lock(shard.mutex);
    record.wipe_sequences.push_back(shard.wipe_sequence);
  }
  return record;
}

Status Persister::WriteCheckpoint(Partition& p,
                                  const CheckpointRecord& record) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  const auto batch = state_->store->NewBatch();
  batch->Put(ColumnFamily::kMeta, CheckpointKey(p.index), EncodeCheckpointRecord(record));
  if (TALLY_FAULT_POINT("checkpoint.before_write")) {
    return Status::Error(StatusCode::kIoError, "fault point checkpoint.before_write");
  }
  if (Status s = state_->store->Write(batch.get()); !s.ok()) {
    state_->EnterReadOnly("a checkpoint write failed (" + std::string(s.message()) + ")");
    return s;
  }
  p.checkpoint_offset = record.offset;
  p.checkpoint_stale = false;
  p.tail_start.store(record.offset, std::memory_order_relaxed);
  return Status();
}

Status Persister::RemoveTombstones(Partition& p) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  std::vector<Tombstone> due;
  const uint64_t checkpoint_offset = p.checkpoint_offset;
  {
    MutexLock lock(p.tombstone_mutex);
    const auto split =
        std::partition(p.tombstones.begin(), p.tombstones.end(),
                       [&](const Tombstone& t) { return t.offset > checkpoint_offset; });
    due.assign(std::make_move_iterator(split), std::make_move_iterator(p.tombstones.end()));
    p.tombstones.erase(split, p.tombstones.end());
  }
  if (due.empty()) return Status();
  const auto batch = state_->store->NewBatch();
  for (const Tombstone& t : due) {
    const EtypeInfo& etype = state_->catalog.etype(t.etype);
    const uint32_t shard_index = state_->ShardOf(t.hash);
    Shard& shard = state_->shard(shard_index);
    MutexLock lock(shard.mutex);
    // Images are written under p.persist only, so what is blank and clean here is blank in the
    // store.
    Entity* entity = shard.table.Find(t.hash, t.etype, Eid(t.eid));
    if (entity != nullptr) {
      const Activity* activity = entity->activity();
      const bool clean = activity == nullptr || activity->clean();
      if (entity->residency() != Residency::kResident || !entity->Blank() || !clean) continue;
      entity->set_stored(false);
    }
    const std::string key = EntityStoreKey(shard_index, etype.name, t.eid);
    batch->Delete(etype.id == kPlainEtype ? ColumnFamily::kKv : ColumnFamily::kSets, key);
    if (!etype.slots->empty()) batch->Delete(ColumnFamily::kCounts, key);
    if (entity != nullptr) Settle(*state_, shard, entity);
  }
  if (batch->empty()) return Status();
  Status status = state_->store->Write(batch.get());
  if (!status.ok())
    state_->EnterReadOnly("a delete failed (" + std::string(status.message()) + ")");
  return status;
}

Status Persister::TrimJournal(Partition& p) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  if (p.replay.load(std::memory_order_acquire) != ReplayState::kReady || state_->read_only())
    return Status();
  MutexLock persist(p.persist);
  const uint64_t now_ms = state_->clock->WallMs();
  const std::string begin = JournalKey(p.index, 0), end = JournalKey(p.index + 1, 0);
  const uint64_t bytes_max = state_->options.journal_retention_bytes / state_->partitions.size();
  uint64_t bytes = state_->store->ApproximateBytes(ColumnFamily::kJournal, begin, end);
  const auto it = state_->store->NewIterator(ColumnFamily::kJournal, begin, end);
  std::string cut;
  BatchHeader header;
  for (it->Seek(begin); it->Valid(); it->Next()) {
    if (Status s = DecodeBatchHeader(it->key(), it->value(), &header); !s.ok()) return s;
    const bool old = header.time_ms + state_->options.journal_retention_ms < now_ms;
    // Never past the checkpoint; and the last batch stays, it says where the journal ends.
    if ((!old && bytes <= bytes_max) || header.end_offset() > p.checkpoint_offset) break;
    bytes -= std::min<uint64_t>(bytes, it->value().size());
    it->Next();
    if (!it->Valid()) break;
    cut = std::string(it->key());
    it->Prev();
  }
  if (Status s = it->status(); !s.ok()) return s;
  return cut.empty() ? Status() : state_->store->DropRange(ColumnFamily::kJournal, begin, cut);
}

Status Persister::CleanWiped(uint32_t shard_index) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  Shard& shard = state_->shard(shard_index);
  uint64_t wipe_sequence = 0;
  {
    MutexLock lock(shard.mutex);
    wipe_sequence = shard.wipe_sequence;
  }
  if (wipe_sequence == 0) return Status();
  MutexLock persist(state_->PartitionOf(shard_index).persist);
  const std::string lower = ShardPrefix(shard_index), upper = ShardPrefixEnd(shard_index);
  for (const ColumnFamily cf :
       {ColumnFamily::kSets, ColumnFamily::kKv, ColumnFamily::kCounts, ColumnFamily::kSnapshots}) {
    const auto batch = state_->store->NewBatch();
    const auto it = state_->store->NewIterator(cf, lower, upper);
    for (it->Seek(lower); it->Valid(); it->Next()) {
      uint64_t sequence = 0;
      if (cf == ColumnFamily::kSnapshots) {
        std::string_view image;
        if (!DecodeChunkRecord(it->key(), it->value(), &sequence, &image)) continue;
      } else if (cf == ColumnFamily::kCounts) {
        uint32_t key_shard = 0;
        std::string_view etype, eid;
        if (!ParseEntityStoreKey(it->key(), &key_shard, &etype, &eid)) continue;
        const auto slots = static_cast<uint32_t>(state_->catalog.schema().Slots(etype).size());
        const auto record = DecodeCountRecord(it->key(), it->value(), slots);
        if (!record) continue;
        sequence = record->sequence;
      } else {
        EntityImage image;
        if (!DecodeEntityImage(it->key(), it->value(), &image).ok()) continue;
        sequence = image.sequence;
      }
      if (sequence > wipe_sequence) continue;
      batch->Delete(cf, it->key());
      if (batch->bytes() < kSliceBytesMax) continue;
      if (Status s = state_->store->Write(batch.get()); !s.ok()) return s;
      batch->Clear();
    }
    if (Status s = it->status(); !s.ok()) return s;
    if (batch->empty()) continue;
    if (Status s = state_->store->Write(batch.get()); !s.ok()) return s;
  }
  return Status();
}

}  // namespace tallystick
