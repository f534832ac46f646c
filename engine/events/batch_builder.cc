#include "engine/base/assert.h"
#include "engine/base/checksum.h"
#include "engine/base/names.h"
#include "engine/events/batch_codec.h"
#include "engine/events/batch_format.h"

#include <algorithm>

namespace tallystick {
namespace {

using namespace batch_format;

// An event without its eid and payload: first byte, template number and definition, entity type
// number and definition, eid length, uid, delta, payload length; two names.
constexpr size_t kEventBytesMax = 8 * 10 + 2 * (1 + kNameBytesMax);
// What a warm builder keeps; a batch with a huge plain string gives its memory back.
constexpr size_t kKeptBytesMax = 4u << 20;

char* PutRaw(char* p, std::string_view bytes) {
  std::memcpy(p, bytes.data(), bytes.size());
  return p + bytes.size();
}

char* PutName(char* p, std::string_view name) {
  TALLY_ASSERT(IsName(name));
  return PutRaw(StoreVarint(p, name.size()), name);
}

}  // namespace

void BatchBuilder::Begin(uint32_t partition, uint64_t first_offset, uint64_t epoch,
                         uint64_t time_ms) {
  TALLY_ASSERT(partition <= kPartitionNumberMax);
  header_.partition = partition;
  header_.first_offset = first_offset;
  header_.epoch = epoch;
  header_.time_ms = time_ms;
  header_.events = 0;
  for (const ShardSpan& span : header_.shards) shard_seen_[span.shard] = 0;
  header_.shards.clear();
  if (body_.size() > kKeptBytesMax) body_ = std::string();
  if (value_.capacity() > kKeptBytesMax) value_ = std::string();
  used_ = 0;
  eid_text_bytes_ = 0;
  names_.Clear();
  templates_.Clear();
  last_metric_.clear();
  last_metric_number_ = 0;
  last_etype_.clear();
  last_etype_number_ = 0;
  last_template_key_ = 0;
  last_identity_ = nullptr;
  last_entity_ = nullptr;
}

void BatchBuilder::EnterShard(const JournalEvent& event) {
  TALLY_ASSERT(event.shard <= kShardNumberMax);
  if (event.shard >= shard_seen_.size()) shard_seen_.resize(event.shard + 1);
  TALLY_ASSERT(shard_seen_[event.shard] == 0);  // events of a shard are contiguous
  shard_seen_[event.shard] = 1;
  header_.shards.push_back({event.shard, event.sequence, event.sequence});
  entities_.Clear();
  last_identity_ = nullptr;
  last_entity_ = nullptr;
}

char* BatchBuilder::Room(size_t bytes) {
  if (body_.size() - used_ < bytes) body_.resize(std::max(used_ + bytes, 2 * body_.size()));
  return body_.data() + used_;
}

// Gives the bits of the first byte; writes the rest of the number and a new template's definition.
uint8_t BatchBuilder::PutTemplate(const JournalEvent& event, char** p) {
  bool new_name = false;
  if (event.metric != last_metric_) {
    last_metric_number_ = names_.Find(event.metric, &new_name);
    last_metric_.assign(event.metric);
  }
  TALLY_ASSERT(event.kind >= EventKind::kFlip &&
               static_cast<uint8_t>(event.kind) <= kEventKindLast);
  TALLY_ASSERT(event.label_any <= 15 && event.label_first <= 15);
  const uint8_t labels = static_cast<uint8_t>(event.label_any | (event.label_first << 4));
  const uint64_t key = uint64_t{last_metric_number_} << 16 |
                       uint64_t{static_cast<uint8_t>(event.kind)} << 8 | labels;
  bool new_template = false;
  if (key != last_template_key_) {
    last_template_ = templates_.Find(key, &new_template)->number;
    last_template_key_ = key;
  }
  if (last_template_ >= kTemplateFollows) *p = StoreVarint(*p, last_template_ - kTemplateFollows);
  if (new_template) {
    *(*p)++ = static_cast<char>(event.kind);
    *(*p)++ = static_cast<char>(labels);
    *p = StoreVarint(*p, last_metric_number_);
    if (new_name) *p = PutName(*p, event.metric);
  }
  return static_cast<uint8_t>(std::min(last_template_, kTemplateFollows) << kTemplateShift);
}

// Gives the bits of the first byte; writes the number of the entity or a new one's definition.
uint8_t BatchBuilder::PutEntity(const JournalEvent& event, const void* identity, char** p) {
  const auto bits = [](EntityForm form) {
    return static_cast<uint8_t>(static_cast<uint32_t>(form) << kEntityShift);
  };
  if (identity == last_identity_) return bits(EntityForm::kSame);
  bool new_entity = false;
  last_entity_ = entities_.Find(reinterpret_cast<uintptr_t>(identity), &new_entity);
  last_identity_ = identity;
  if (!new_entity) {
    if (last_entity_->number < kNearEntities) {
      *(*p)++ = static_cast<char>(last_entity_->number);
      return bits(EntityForm::kIndex);
    }
    *p = StoreVarint(*p, last_entity_->number - kNearEntities);
    return bits(EntityForm::kFar);
  }

  TALLY_ASSERT(ValidEid(event.etype, event.eid));
  bool new_name = false;
  if (event.etype != last_etype_) {
    last_etype_number_ = names_.Find(event.etype, &new_name);
    last_etype_.assign(event.etype);
  }
  const uint32_t type = last_etype_number_;
  uint64_t number = 0;
  const bool numeric = ParseDecimal(event.eid, &number);
  const uint32_t numeric_bytes = numeric ? BytesOf(number) : 0;
  *(*p)++ = static_cast<char>(std::min(type, kTypeFollows) << kTypeShift | numeric_bytes);
  if (type >= kTypeFollows) *p = StoreVarint(*p, type - kTypeFollows);
  if (new_name) *p = PutName(*p, event.etype);
  if (numeric) {
    StoreUint(*p, number, numeric_bytes);
    *p += numeric_bytes;
    eid_text_bytes_ += event.eid.size();
  } else {
    *p = PutRaw(StoreVarint(*p, event.eid.size()), event.eid);
  }
  return bits(EntityForm::kNew);
}

// Gives the bits of the first byte.
uint8_t BatchBuilder::PutUid(uint64_t uid, char** p) {
  const uint64_t distance = UidDistance(uid, last_entity_->last_uid);
  last_entity_->last_uid = uid;
  const uint8_t form = ChooseUidForm(uid, distance);
  StoreUint(*p, kUidForms[form].delta ? distance : uid, kUidForms[form].bytes);
  *p += kUidForms[form].bytes;
  return form;
}

void BatchBuilder::Add(const JournalEvent& event, const void* identity) {
  TALLY_ASSERT((identity != nullptr) == HasEntity(event.kind));
  if (header_.shards.empty() || header_.shards.back().shard != event.shard) {
    EnterShard(event);
  } else {
    ShardSpan* span = &header_.shards.back();
    TALLY_ASSERT(event.sequence == span->last_sequence + 1 && event.sequence != 0);
    span->last_sequence = event.sequence;
  }
  ++header_.events;

  char* const start = Room(kEventBytesMax + event.eid.size() + event.payload.size());
  char* p = start + 1;
  uint8_t first = PutTemplate(event, &p);
  if (HasEntity(event.kind)) first |= PutEntity(event, identity, &p);
  if (event.kind == EventKind::kFlip) {
    TALLY_ASSERT(event.delta == 1 || event.delta == -1);
    TALLY_ASSERT(event.payload.empty());
    if (event.delta < 0) first |= kSignBit;
    first |= PutUid(event.uid, &p);
  } else {
    if (event.delta == 1) {
      first |= kSignBit;
    } else if (event.delta != 0) {
      first |= kDeltaFollows;
      p = StoreVarint(p, ZigZag(event.delta));
    }
    if (event.uid != 0) {
      first |= kUidFollows;
      p = StoreVarint(p, event.uid);
    }
    if (!event.payload.empty()) {
      first |= kPayloadFollows;
      p = PutRaw(StoreVarint(p, event.payload.size()), event.payload);
    }
  }
  *start = static_cast<char>(first);
  used_ = static_cast<size_t>(p - body_.data());
}

size_t BatchBuilder::bytes() const {
  return used_ + 48 + 10 * header_.shards.size();
}

std::string_view BatchBuilder::Finish(std::string_view key) {
  value_.clear();
  value_.reserve(bytes() + 32 * header_.shards.size());
  value_.push_back(static_cast<char>(kJournalBatchVersion));
  PutVarint(&value_, header_.partition);
  PutVarint(&value_, header_.first_offset);
  PutVarint(&value_, header_.epoch);
  PutVarint(&value_, header_.time_ms);
  PutVarint(&value_, eid_text_bytes_);
  PutVarint(&value_, header_.shards.size());
  for (const ShardSpan& span : header_.shards) {
    PutVarint(&value_, span.shard);
    PutVarint(&value_, span.first_sequence);
    PutVarint(&value_, span.last_sequence - span.first_sequence);
  }
  value_.append(body_, 0, used_);
  SealRecord(key, &value_);
  return value_;
}

}  // namespace tallystick
