#include "engine/recovery/verify_entity.h"

#include "engine/base/assert.h"
#include "engine/base/log.h"
#include "engine/counts/catalog.h"
#include "engine/counts/sds_record.h"
#include "engine/events/batch_codec.h"
#include "engine/facts/chunk_list.h"
#include "engine/facts/text_set.h"
#include "engine/storage/key_codec.h"

#include <algorithm>

namespace tallystick {
namespace {

constexpr size_t kPageUids = 4096;

Status Corrupt(std::string what) {
  return Status::Error(StatusCode::kCorruption, std::move(what));
}

// A failure to decode one piece is damage of that piece, whatever the decoder calls it.
Status Damage(std::string piece, const Status& why) {
  return Corrupt(std::move(piece) + ": " + std::string(why.message()));
}

std::string NameOf(const StoredEntity& entity) {
  if (entity.etype.empty()) return "plain key " + Escaped(entity.eid);
  return std::string(entity.etype) + ":" + Escaped(entity.eid);
}

// A flip in the journal really changed its fact: one that changes nothing here contradicts the
// image.
Status Flip(bool changed, const std::string& metric, const VerifyEvent& event, uint64_t uid) {
  if (changed) return {};
  return Corrupt("its snapshot contradicts the journal: sequence " +
                 std::to_string(event.sequence) + " changes " + metric + " of uid " +
                 std::to_string(uid) + ", which the snapshot already has so");
}

Status FlipAll(std::string_view chunk_list, bool add, const std::string& metric,
               const VerifyEvent& event, FactSet* set) {
  Status status;
  const bool valid = ReadChunkList(chunk_list, [&](uint64_t chunk, const ChunkBits& bits) {
    ForEachBit(bits.data(), 0, kChunkBits - 1, [&](uint32_t bit) {
      const uint64_t uid = FirstUidOf(chunk) + bit;
      if (status.ok()) status = Flip(add ? set->Add(uid) : set->Remove(uid), metric, event, uid);
    });
    return status.ok();
  });
  if (!status.ok() || valid) return status;
  return Corrupt("a bulk change is malformed");
}

// Journal has vanished, or the piece is from elsewhere.
Status Beyond(const char* piece, uint64_t sequence, uint64_t last) {
  return Corrupt("its " + std::string(piece) + " knows of sequence " + std::to_string(sequence) +
                 ", but the journal of its shard ends at " + std::to_string(last));
}

}  // namespace

void EntityVerifier::AddDamage(std::string sentence) {
  ++report_.damaged_count;
  if (report_.damaged.size() < kDamagedListedMax) report_.damaged.push_back(std::move(sentence));
}

Status EntityVerifier::Verify(const StoredEntity& entity, const VerifyTail& tail) {
  const bool plain = entity.etype.empty();
  ++(plain ? report_.plain_keys : report_.entities);
  const std::vector<SlotSpec>& slots = schema_.Slots(entity.etype);
  TALLY_ASSERT(!plain || (slots.empty() && entity.events == nullptr && !entity.record));
  Facts facts;
  Sums sums;
  Status read = ReadFacts(entity, tail, &facts);
  if (read.ok()) read = ApplyTail(entity, tail, &facts);
  Status record = ReadSums(entity, tail, slots, &sums);
  for (Status* status : {&read, &record}) {
    if (status->code() == StatusCode::kIoError) return std::move(*status);
    if (!status->ok()) AddDamage(NameOf(entity) + ": " + std::string(status->message()));
  }
  if (!read.ok()) return {};
  std::map<std::string, int64_t, std::less<>> counts;
  Recount(facts, &counts);
  if (record.ok()) Compare(entity, slots, facts, counts, sums);
  return {};
}

Status EntityVerifier::ReadFacts(const StoredEntity& entity, const VerifyTail& tail, Facts* facts) {
  const uint64_t wipe_sequence = tail.wipe_sequence(entity.shard);
  facts->sequence = wipe_sequence;
  if (!entity.image) return {};
  EntityImage image;
  if (Status s = DecodeEntityImage(entity.key, *entity.image, &image); !s.ok()) return s;
  if (image.sequence <= wipe_sequence) return {};
  if (image.sequence > tail.last_sequence(entity.shard)) {
    return Beyond("snapshot", image.sequence, tail.last_sequence(entity.shard));
  }
  facts->sequence = image.sequence;
  for (const EntityImage::Set& stored : image.sets) {
    FactSet set;
    const std::string metric(stored.metric);
    if (!FactSet::DecodeHeader(stored.header, &set)) {
      return Corrupt("its snapshot: the set of " + metric + " is malformed");
    }
    if (Status s = ReadChunks(entity, metric, image.sequence, &set); !s.ok()) return s;
    if (!facts->sets.emplace(metric, std::move(set)).second) {
      return Corrupt("its snapshot: the set of " + metric + " is there twice");
    }
  }
  for (const EntityImage::CounterPart& part : image.counter_parts) {
    facts->counter_parts[std::string(part.slot)] = part.value;
  }
  return image.texts.empty() ? Status() : ReadTexts(entity, image.texts, image.sequence);
}

Status EntityVerifier::ReadTexts(const StoredEntity& entity, std::string_view header,
                                 uint64_t image_sequence) {
  TextSet texts(text_seed_);
  if (!TextSet::DecodeHeader(header, text_seed_, &texts)) {
    return Corrupt("its snapshot: the directory of its texts is malformed");
  }
  for (const uint64_t page : texts.PagesToInstall()) {
    const std::string piece = "page " + std::to_string(page) + " of its texts";
    const std::string metric(kTextMetricName);
    std::string value;
    std::string_view image;
    if (Status s = ReadChunk(entity, metric, page, piece, image_sequence, &value, &image); !s.ok())
      return s;
    if (!texts.InstallPage(page, image)) {
      return Corrupt(piece + " does not hold the texts that its directory says");
    }
  }
  return {};
}

// `piece` names the chunk in messages; *image points into *value.
Status EntityVerifier::ReadChunk(const StoredEntity& entity, const std::string& metric,
                                 uint64_t chunk, const std::string& piece, uint64_t image_sequence,
                                 std::string* value, std::string_view* image) {
  const std::string key = ChunkStoreKey(entity.shard, entity.etype, entity.eid, metric, chunk);
  bool found = false;
  Status got = store_.Get(ColumnFamily::kSnapshots, key, value, &found);
  if (got.code() == StatusCode::kIoError) return got;
  if (!got.ok()) return Damage(piece, got);
  if (!found) return Corrupt(piece + " is missing");
  uint64_t sequence = 0;
  if (Status s = OpenChunkRecord(key, *value, &sequence, image); !s.ok()) return Damage(piece, s);
  return sequence > image_sequence ? Corrupt(piece + " is newer than its directory") : Status();
}

Status EntityVerifier::ReadChunks(const StoredEntity& entity, const std::string& metric,
                                  uint64_t image_sequence, FactSet* set) {
  while (const std::optional<uint64_t> chunk = set->FirstAbsent({})) {
    const std::string piece = "chunk " + std::to_string(*chunk) + " of " + metric;
    std::string value;
    std::string_view image;
    if (Status s = ReadChunk(entity, metric, *chunk, piece, image_sequence, &value, &image);
        !s.ok()) {
      return s;
    }
    if (!set->InstallChunk(*chunk, image)) {
      return Corrupt(piece + " does not hold the members that its directory says");
    }
  }
  return {};
}

Status EntityVerifier::ApplyTail(const StoredEntity& entity, const VerifyTail& tail, Facts* facts) {
  if (entity.events == nullptr) return {};
  for (const VerifyEvent& event : *entity.events) {
    if (event.sequence <= facts->sequence) continue;
    const std::string& metric = tail.metric(event);
    switch (event.kind) {
      case EventKind::kFlip: {
        FactSet& set = facts->sets[metric];
        const bool changed = event.delta > 0 ? set.Add(event.uid) : set.Remove(event.uid);
        if (Status s = Flip(changed, metric, event, event.uid); !s.ok()) return s;
        break;
      }
      case EventKind::kBulkClear: {
        std::vector<uint64_t> uids;
        if (!DecodeUids(tail.payload(event), &uids)) return Corrupt("a bulk change is malformed");
        FactSet& set = facts->sets[metric];
        for (const uint64_t uid : uids) {
          if (Status s = Flip(set.Remove(uid), metric, event, uid); !s.ok()) return s;
        }
        break;
      }
      case EventKind::kBulkChange: {
        std::string_view added;
        std::string_view removed;
        if (!SplitChange(tail.payload(event), &added, &removed)) {
          return Corrupt("a bulk change is malformed");
        }
        FactSet& set = facts->sets[metric];
        if (Status s = FlipAll(added, true, metric, event, &set); !s.ok()) return s;
        if (Status s = FlipAll(removed, false, metric, event, &set); !s.ok()) return s;
        break;
      }
      case EventKind::kCounter:
        facts->counter_parts[metric] += event.delta;
        break;
      case EventKind::kReset: {
        std::vector<ResetSlot> resets;
        if (!DecodeReset(tail.payload(event), &resets)) return Corrupt("a reset is malformed");
        for (const ResetSlot& reset : resets) {
          facts->counter_parts[std::string(reset.slot)] = reset.counter_part;
        }
        break;
      }
      case EventKind::kPlainString:
      case EventKind::kPlainDelete:
      case EventKind::kPlainLength:
      case EventKind::kPlainReplace:
      case EventKind::kMembersChange:
      case EventKind::kPlainMembers:
      case EventKind::kWipe:
        return Corrupt("the journal has an event of a plain key for it");
    }
  }
  return {};
}

Status EntityVerifier::ReadSums(const StoredEntity& entity, const VerifyTail& tail,
                                const std::vector<SlotSpec>& slots, Sums* sums) {
  const uint64_t wipe_sequence = tail.wipe_sequence(entity.shard);
  sums->values.resize(slots.size());
  sums->counter_parts.resize(slots.size());
  uint64_t sequence = wipe_sequence;
  if (entity.record) {
    const auto decoded =
        DecodeCountRecord(entity.key, *entity.record, static_cast<uint32_t>(slots.size()));
    if (!decoded) return decoded.error();
    if (decoded->sequence > tail.last_sequence(entity.shard)) {
      return Beyond("count record", decoded->sequence, tail.last_sequence(entity.shard));
    }
    if (decoded->sequence > wipe_sequence) {
      sums->found = true;
      sequence = decoded->sequence;
      for (size_t i = 0; i < slots.size(); ++i) {
        sums->values[i] = decoded->values[i];
        sums->counter_parts[i] = decoded->counter_parts[i];
      }
    }
  }
  if (entity.events == nullptr) return {};
  for (const VerifyEvent& event : *entity.events) {
    if (event.sequence <= sequence) continue;
    std::vector<ResetSlot> resets;
    if (event.kind == EventKind::kReset && !DecodeReset(tail.payload(event), &resets)) {
      return Corrupt("a reset is malformed");
    }
    for (size_t i = 0; i < slots.size(); ++i) {
      const bool is_fact = event.kind == EventKind::kFlip || event.kind == EventKind::kBulkClear ||
                           event.kind == EventKind::kBulkChange;
      if (is_fact && slots[i].has_facts && slots[i].metric == tail.metric(event)) {
        sums->values[i] += event.delta;
      } else if (event.kind == EventKind::kCounter && slots[i].name == tail.metric(event)) {
        sums->values[i] += event.delta;
        sums->counter_parts[i] += event.delta;
      }
      for (const ResetSlot& reset : resets) {
        if (reset.slot != slots[i].name) continue;
        sums->values[i] = reset.facts + reset.counter_part;
        sums->counter_parts[i] = reset.counter_part;
      }
    }
  }
  return {};
}

void EntityVerifier::Recount(const Facts& facts,
                             std::map<std::string, int64_t, std::less<>>* counts) {
  for (const auto& [metric, set] : facts.sets) {
    int64_t members = 0;
    std::optional<uint64_t> from = 0;
    while (from) {
      uids_.clear();
      from = set.Collect(*from, kPageUids, &uids_);
      members += static_cast<int64_t>(uids_.size());
    }
    if (members == 0) continue;
    (*counts)[metric] = members;
    ++report_.fact_sets;
    report_.facts += static_cast<uint64_t>(members);
  }
}

void EntityVerifier::Compare(const StoredEntity& entity, const std::vector<SlotSpec>& slots,
                             const Facts& facts,
                             const std::map<std::string, int64_t, std::less<>>& counts,
                             const Sums& sums) {
  for (size_t i = 0; i < slots.size(); ++i) {
    ++report_.slots;
    Drift drift;
    drift.record = sums.values[i];
    drift.counter_part = sums.counter_parts[i];
    if (const auto part = facts.counter_parts.find(slots[i].name);
        part != facts.counter_parts.end()) {
      drift.snapshot_counter_part = part->second;
    }
    if (slots[i].has_facts) {
      if (const auto count = counts.find(slots[i].metric); count != counts.end()) {
        drift.facts = count->second;
      }
    }
    const bool copies_agree = drift.counter_part == drift.snapshot_counter_part;
    const bool adds_up = drift.record == drift.facts + drift.counter_part;
    if (adds_up && copies_agree) continue;
    drift.kind = !copies_agree ? DriftKind::kCounterPart : DriftKind::kCount;
    if (!sums.found) drift.kind = DriftKind::kMissingRecord;
    drift.etype = entity.etype;
    drift.eid = entity.eid;
    drift.slot = slots[i].name;
    ++report_.drift_count;
    if (report_.drifts.size() < kDriftsListedMax) report_.drifts.push_back(std::move(drift));
  }
}

}  // namespace tallystick
