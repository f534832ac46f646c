#include "engine/base/assert.h"
#include "engine/base/names.h"
#include "engine/events/batch_codec.h"
#include "engine/events/batch_format.h"

#include <charconv>

namespace tallystick {
namespace {

using namespace batch_format;

// Reads the front of a batch; *reader is left at the first section.
Status ReadHeader(std::string_view key, std::string_view value, BatchHeader* header,
                  size_t* eid_text_bytes, std::string_view* sections) {
  // Keeps the vectors' memory: replay reads batch after batch into one header.
  header->events = 0;
  header->shards.clear();
  header->eid_text.clear();
  std::string_view body;
  if (Status s = OpenVersionedRecord(kKind, key, value, &body); !s.ok()) return s;
  ByteReader reader(body);
  uint64_t partition = 0;
  uint64_t text = 0;
  uint64_t shards = 0;
  if (!reader.Varint(&partition) || partition > kPartitionNumberMax ||
      !reader.Varint(&header->first_offset) || !reader.Varint(&header->epoch) ||
      !reader.Varint(&header->time_ms) || !reader.Varint(&text) || !reader.Varint(&shards) ||
      shards > kShardNumberMax + 1) {
    return DamagedRecord(kKind, "malformed head");
  }
  std::vector<bool> seen(shards > 1 ? kShardNumberMax + 1 : 0);
  uint64_t events = 0;
  for (uint64_t i = 0; i < shards; ++i) {
    uint64_t shard = 0;
    uint64_t first = 0;
    uint64_t more = 0;
    if (!reader.Varint(&shard) || shard > kShardNumberMax || !reader.Varint(&first) ||
        !reader.Varint(&more) || more >= reader.remaining() || first > UINT64_MAX - more) {
      return DamagedRecord(kKind, "malformed shard section");
    }
    if (shards > 1 && seen[shard]) return DamagedRecord(kKind, "two sections of one shard");
    if (shards > 1) seen[shard] = true;
    events += more + 1;
    header->shards.push_back({static_cast<uint32_t>(shard), first, first + more});
  }
  // Every event has at least one byte, every digit of a numeric eid less than half a byte.
  if (events > reader.remaining() || events > UINT32_MAX || text / 3 > reader.remaining()) {
    return DamagedRecord(kKind, "too short for its events");
  }
  header->partition = static_cast<uint32_t>(partition);
  header->events = static_cast<uint32_t>(events);
  *eid_text_bytes = text;
  *sections = reader.rest();
  return Status();
}

// Reads the events of all sections. Bounds: p_ <= end_ always; LoadUint may read up to 7 bytes past
// end_, where the checksum is.
class EventReader {
 public:
  EventReader(std::string_view sections, std::vector<char>* eid_text)
      : p_(sections.data()),
        end_(sections.data() + sections.size()),
        text_(eid_text->data()),
        text_end_(eid_text->data() + eid_text->size()) {}

  void EnterSection() {
    entities_.clear();
    current_ = 0;
  }
  bool Read(JournalEvent* event);
  bool Finish() {
    if (p_ != end_) return Damaged("trailing bytes");
    if (text_ != text_end_) return Damaged("it holds fewer numeric ids than its head says");
    return true;
  }
  Status TakeStatus() { return std::move(status_); }

 private:
  struct Template {
    EventKind kind;
    uint8_t labels;
    std::string_view metric;
  };
  struct Entity {
    std::string_view etype;
    std::string_view eid;
    uint64_t last_uid;
  };

  bool Damaged(std::string_view what) {
    status_ = DamagedRecord(kKind, what);
    return false;
  }
  size_t remaining() const { return static_cast<size_t>(end_ - p_); }
  bool U8(uint8_t* v) {
    if (p_ == end_) return false;
    *v = static_cast<uint8_t>(*p_++);
    return true;
  }
  bool Uint(uint32_t bytes, uint64_t* v) {
    if (remaining() < bytes) return false;
    *v = LoadUint(p_, bytes);
    p_ += bytes;
    return true;
  }
  bool Varint(uint64_t* v) {
    if (p_ != end_ && static_cast<uint8_t>(*p_) < 0x80) {
      *v = static_cast<uint8_t>(*p_++);
      return true;
    }
    ByteReader reader(std::string_view(p_, remaining()));
    if (!reader.Varint(v)) return false;
    p_ = end_ - reader.remaining();
    return true;
  }
  bool Raw(uint64_t bytes, std::string_view* v) {
    if (remaining() < bytes) return false;
    *v = std::string_view(p_, bytes);
    p_ += bytes;
    return true;
  }
  bool Bytes(std::string_view* v) {
    uint64_t bytes = 0;
    return Varint(&bytes) && Raw(bytes, v);
  }

  bool Name(uint64_t number, std::string_view* name);
  bool Definition(Template* made);
  bool Eid(uint32_t numeric_bytes, Entity* entity);
  bool NewEntity();
  bool ChooseTemplate(uint8_t first, const Template** chosen);
  bool ChooseEntity(EntityForm form);
  bool Flip(uint8_t first, JournalEvent* event);
  bool Other(uint8_t first, JournalEvent* event);

  const char* p_;
  const char* const end_;
  char* text_;
  char* const text_end_;
  std::vector<std::string_view> names_;
  std::vector<Template> templates_;
  std::vector<Entity> entities_;  // of the present section
  size_t current_ = 0;            // the entity of the event before
  Status status_;
};

bool EventReader::Name(uint64_t number, std::string_view* name) {
  if (number > names_.size() + 1) return Damaged("number of an undefined name");
  if (number == names_.size() + 1) {
    std::string_view defined;
    if (!Bytes(&defined) || !IsName(defined)) return Damaged("malformed name");
    names_.push_back(defined);
  }
  *name = number == 0 ? std::string_view() : names_[number - 1];
  return true;
}

bool EventReader::Definition(Template* made) {
  uint8_t kind = 0;
  uint64_t name = 0;
  if (!U8(&kind) || !U8(&made->labels) || !Varint(&name)) return Damaged("malformed template");
  if (kind == 0 || kind > kEventKindLast) {
    status_ = UnsupportedRecord({"kind of event in a journal batch", kEventKindLast}, kind);
    return false;
  }
  made->kind = static_cast<EventKind>(kind);
  return Name(name, &made->metric);
}

bool EventReader::ChooseTemplate(uint8_t first, const Template** chosen) {
  uint64_t number = first >> kTemplateShift;
  if (number == kTemplateFollows) {
    if (!Varint(&number)) return Damaged("malformed template number");
    number += kTemplateFollows;
  }
  if (number == templates_.size()) {
    Template made;
    if (!Definition(&made)) return false;
    templates_.push_back(made);
  }
  if (number >= templates_.size()) return Damaged("number of an undefined template");
  *chosen = &templates_[number];
  return true;
}

bool EventReader::Eid(uint32_t numeric_bytes, Entity* entity) {
  if (numeric_bytes > kNumericBytesMax) return Damaged("malformed entity");
  uint64_t number = 0;
  if (numeric_bytes == 0) {
    if (!Bytes(&entity->eid) || !ValidEid(entity->etype, entity->eid) ||
        ParseDecimal(entity->eid, &number)) {
      return Damaged("malformed entity id");
    }
    return true;
  }
  if (!Uint(numeric_bytes, &number) || BytesOf(number) != numeric_bytes) {
    return Damaged("malformed numeric entity id");
  }
  const std::to_chars_result written = std::to_chars(text_, text_end_, number);
  if (written.ec != std::errc()) return Damaged("more numeric entity ids than its head says");
  entity->eid = std::string_view(text_, static_cast<size_t>(written.ptr - text_));
  text_ = written.ptr;
  return true;
}

bool EventReader::NewEntity() {
  uint8_t head = 0;
  if (!U8(&head)) return Damaged("malformed entity");
  uint64_t type = head >> kTypeShift;
  if (type == kTypeFollows) {
    if (!Varint(&type)) return Damaged("malformed entity type");
    type += kTypeFollows;
  }
  Entity entity = {};
  if (!Name(type, &entity.etype)) return false;
  if (!Eid(head & ((1u << kTypeShift) - 1), &entity)) return false;
  current_ = entities_.size();
  entities_.push_back(entity);
  return true;
}

bool EventReader::ChooseEntity(EntityForm form) {
  uint64_t number = 0;
  switch (form) {
    case EntityForm::kSame:
      return current_ < entities_.size() || Damaged("no entity before to refer to");
    case EntityForm::kNew:
      return NewEntity();
    case EntityForm::kIndex:
      if (!Uint(1, &number)) return Damaged("cut at an entity number");
      break;
    case EntityForm::kFar:
      if (!Varint(&number)) return Damaged("malformed entity number");
      number += kNearEntities;
      break;
  }
  if (number >= entities_.size() || number == current_) return Damaged("impossible entity number");
  current_ = number;
  return true;
}

bool EventReader::Flip(uint8_t first, JournalEvent* event) {
  const uint8_t form = first & kLowMask;
  uint64_t stored = 0;
  if (!Uint(kUidForms[form].bytes, &stored)) return Damaged("cut at a uid");
  Entity* entity = &entities_[current_];
  const uint64_t uid = kUidForms[form].delta ? UidAtDistance(entity->last_uid, stored) : stored;
  if (ChooseUidForm(uid, UidDistance(uid, entity->last_uid)) != form) {
    return Damaged("a uid is not in its shortest form");
  }
  entity->last_uid = uid;
  event->uid = uid;
  event->delta = (first & kSignBit) != 0 ? -1 : 1;
  return true;
}

bool EventReader::Other(uint8_t first, JournalEvent* event) {
  if ((first & kSignBit) != 0) event->delta = 1;
  if ((first & kDeltaFollows) != 0) {
    uint64_t raw = 0;
    if (!Varint(&raw) || raw == 0 || raw == ZigZag(1) || (first & kSignBit) != 0) {
      return Damaged("malformed delta");
    }
    event->delta = UnZigZag(raw);
  }
  if ((first & kUidFollows) != 0 && (!Varint(&event->uid) || event->uid == 0)) {
    return Damaged("malformed uid");
  }
  if ((first & kPayloadFollows) != 0 && (!Bytes(&event->payload) || event->payload.empty())) {
    return Damaged("malformed payload");
  }
  return true;
}

bool EventReader::Read(JournalEvent* event) {
  uint8_t first = 0;
  if (!U8(&first)) return Damaged("cut at an event");
  const Template* shape = nullptr;
  if (!ChooseTemplate(first, &shape)) return false;
  event->kind = shape->kind;
  event->label_any = shape->labels & 15;
  event->label_first = shape->labels >> 4;
  event->metric = shape->metric;
  const EntityForm form = static_cast<EntityForm>((first >> kEntityShift) & 3);
  if (HasEntity(shape->kind)) {
    if (!ChooseEntity(form)) return false;
    event->etype = entities_[current_].etype;
    event->eid = entities_[current_].eid;
  } else if (form != EntityForm::kSame) {
    return Damaged("an entity where there can be none");
  }
  return shape->kind == EventKind::kFlip ? Flip(first, event) : Other(first, event);
}

}  // namespace

Status DecodeBatch(std::string_view key, std::string_view value, BatchHeader* header,
                   std::vector<JournalEvent>* events) {
  events->clear();
  size_t eid_text_bytes = 0;
  std::string_view sections;
  if (Status s = ReadHeader(key, value, header, &eid_text_bytes, &sections); !s.ok()) return s;
  header->eid_text.resize(eid_text_bytes);
  events->resize(header->events);
  EventReader reader(sections, &header->eid_text);
  JournalEvent* event = events->data();
  for (const ShardSpan& span : header->shards) {
    reader.EnterSection();
    for (uint64_t i = 0; i <= span.last_sequence - span.first_sequence; ++i, ++event) {
      event->shard = span.shard;
      event->sequence = span.first_sequence + i;
      if (!reader.Read(event)) return reader.TakeStatus();
    }
  }
  TALLY_ASSERT(event == events->data() + events->size());
  if (!reader.Finish()) return reader.TakeStatus();
  return Status();
}

Status DecodeBatchHeader(std::string_view key, std::string_view value, BatchHeader* header) {
  size_t eid_text_bytes = 0;
  std::string_view sections;
  return ReadHeader(key, value, header, &eid_text_bytes, &sections);
}

}  // namespace tallystick
