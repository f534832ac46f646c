// The two written forms of a schema: binary for the meta column family, text for configuration.
#include "engine/base/coding.h"
#include "engine/base/log.h"
#include "engine/base/record.h"
#include "engine/counts/schema.h"

namespace tallystick {
namespace {

constexpr RecordKind kKind = {"schema", kSchemaVersion};

constexpr uint8_t kHasFacts = 1;
constexpr uint8_t kHasCounter = 2;
constexpr uint8_t kEightBytes = 4;
constexpr uint8_t kOtherMetric = 8;  // the metric's name follows; it is not the slot's
constexpr uint8_t kFlagsAll = 15;

bool ReadSlot(ByteReader* reader, SlotSpec* slot) {
  std::string_view name;
  uint8_t flags = 0;
  if (!reader->Bytes(&name) || !reader->U8(&flags) || flags > kFlagsAll) return false;
  slot->name = name;
  slot->has_facts = (flags & kHasFacts) != 0;
  slot->has_counter = (flags & kHasCounter) != 0;
  slot->width_bytes = (flags & kEightBytes) != 0 ? 8 : 4;
  if ((flags & kOtherMetric) == 0) return true;
  std::string_view metric;
  if (!reader->Bytes(&metric) || metric.empty() || metric == name) return false;
  slot->metric = metric;
  return true;
}

bool ReadType(ByteReader* reader, EntityTypeSpec* type) {
  std::string_view etype;
  uint8_t slots = 0;
  if (!reader->Bytes(&etype) || !reader->U8(&slots) || slots > kSlotsMax) return false;
  type->etype = etype;
  for (uint8_t i = 0; i < slots; ++i) {
    if (!ReadSlot(reader, &type->slots.emplace_back())) return false;
  }
  return true;
}

// Cuts the text before the first of `stops` off the front, and that byte with it.
std::string_view CutUntil(std::string_view* text, std::string_view stops) {
  const size_t length = text->find_first_of(stops);
  const std::string_view part = text->substr(0, length);
  text->remove_prefix(length == std::string_view::npos ? text->size() : length + 1);
  return part;
}

bool ParseSource(std::string_view word, SlotSpec* slot) {
  if (word != "facts" && word != "counter" && word != "facts+counter") return false;
  slot->has_facts = word != "counter";
  slot->has_counter = word != "facts";
  return true;
}

bool ParseWidth(std::string_view word, SlotSpec* slot) {
  if (word != "4" && word != "8") return false;
  slot->width_bytes = static_cast<uint8_t>(word[0] - '0');
  return true;
}

// name[=metric][:source][:width]
bool ParseSlot(std::string_view item, SlotSpec* slot) {
  if (item.back() == ':') return false;
  std::string_view rest = item;
  std::string_view name = CutUntil(&rest, ":");
  if (name.empty() || name.back() == '=') return false;
  slot->name = CutUntil(&name, "=");
  slot->metric = name;
  if (rest.empty()) return true;
  std::string_view word = CutUntil(&rest, ":");
  if (ParseSource(word, slot)) {
    if (rest.empty()) return true;
    word = CutUntil(&rest, ":");
  }
  return ParseWidth(word, slot) && rest.empty();
}

}  // namespace

std::string Schema::Encode() const {
  std::string out;
  out.push_back(static_cast<char>(kSchemaVersion));
  PutVarint(&out, spec_.types.size());
  for (const EntityTypeSpec& type : spec_.types) {
    PutBytes(&out, type.etype);
    out.push_back(static_cast<char>(type.slots.size()));
    for (const SlotSpec& slot : type.slots) {
      const bool other_metric = slot.has_facts && slot.metric != slot.name;
      const int flags = (slot.has_facts ? kHasFacts : 0) | (slot.has_counter ? kHasCounter : 0) |
                        (slot.width_bytes == 8 ? kEightBytes : 0) |
                        (other_metric ? kOtherMetric : 0);
      PutBytes(&out, slot.name);
      out.push_back(static_cast<char>(flags));
      if (other_metric) PutBytes(&out, slot.metric);
    }
  }
  return out;
}

Result<Schema> Schema::Decode(std::string_view bytes) {
  ByteReader reader(bytes);
  uint8_t version = 0;
  if (!reader.U8(&version)) return Fail(DamagedRecord(kKind, "empty"));
  if (version == 0 || version > kKind.newest) return Fail(UnsupportedRecord(kKind, version));
  uint64_t types = 0;
  if (!reader.Varint(&types)) return Fail(DamagedRecord(kKind, "too short"));
  SchemaSpec spec;
  for (uint64_t i = 0; i < types; ++i) {
    EntityTypeSpec type;
    if (!ReadType(&reader, &type)) return Fail(DamagedRecord(kKind, "a type is cut or malformed"));
    if (i > 0 && type.etype <= spec.types.back().etype) {
      return Fail(DamagedRecord(kKind, "types are not in ascending order"));
    }
    spec.types.push_back(std::move(type));
  }
  if (reader.remaining() != 0) return Fail(DamagedRecord(kKind, "trailing bytes"));
  Result<Schema> schema = Make(std::move(spec));
  if (!schema.has_value()) return Fail(DamagedRecord(kKind, schema.error().message()));
  return schema;
}

Result<EntityTypeSpec> Schema::ParseType(std::string_view etype, std::string_view slots) {
  constexpr std::string_view kSeparators = " \t,";
  EntityTypeSpec type;
  type.etype = etype;
  while (!slots.empty()) {
    const std::string_view item = CutUntil(&slots, kSeparators);
    if (item.empty()) continue;
    if (!ParseSlot(item, &type.slots.emplace_back())) {
      return Fail(StatusCode::kInvalidArgument,
                  "entity type " + Escaped(etype) + ": " + Escaped(item) +
                      " is not name[=metric][:facts|counter|facts+counter][:4|8]");
    }
  }
  Result<Schema> schema = Make(SchemaSpec{{std::move(type)}});
  if (!schema.has_value()) return Fail(std::move(schema.error()));
  return schema->spec().types.front();
}

std::string Schema::FormatSlots(const EntityTypeSpec& type) {
  std::string text;
  for (const SlotSpec& slot : type.slots) {
    if (!text.empty()) text += ' ';
    text += slot.name;
    if (slot.has_facts && !slot.metric.empty() && slot.metric != slot.name)
      text += '=' + slot.metric;
    text += !slot.has_counter ? ":facts" : slot.has_facts ? ":facts+counter" : ":counter";
    if (slot.width_bytes == 8) text += ":8";
  }
  return text;
}

}  // namespace tallystick
