#include "engine/counts/schema.h"

#include "engine/base/coding.h"
#include "engine/base/log.h"
#include "engine/base/names.h"

#include <algorithm>
#include <bit>
#include <set>

namespace tallystick {
namespace {

constexpr std::string_view kEveryOtherType = "*";

Status Refuse(std::string_view etype, std::string_view what) {
  std::string message = "entity type " + Escaped(etype) + ": ";
  message += what;
  return Status::Error(StatusCode::kInvalidArgument, std::move(message));
}

Status RefuseSlot(std::string_view etype, const SlotSpec& slot, std::string_view what) {
  std::string message = "slot " + Escaped(slot.name) + " ";
  message += what;
  return Refuse(etype, message);
}

// Writes out what is implied and refuses what has no meaning.
Status NormaliseSlot(std::string_view etype, SlotSpec* slot) {
  if (!IsName(slot->name)) return RefuseSlot(etype, *slot, "is not [A-Za-z0-9_-]{1,64}");
  if (slot->width_bytes != 4 && slot->width_bytes != 8) {
    return RefuseSlot(etype, *slot, "has a width other than 4 or 8");
  }
  if (!slot->has_facts && !slot->has_counter) {
    return RefuseSlot(etype, *slot, "has neither facts nor a counter part");
  }
  if (slot->has_facts && slot->metric.empty()) slot->metric = slot->name;
  if (!slot->has_facts && !slot->metric.empty()) {
    return RefuseSlot(etype, *slot, "names a metric but does not count facts");
  }
  if (slot->has_facts && !IsName(slot->metric)) {
    return RefuseSlot(etype, *slot, "has a metric that is not [A-Za-z0-9_-]{1,64}");
  }
  return Status();
}

Status NormaliseType(EntityTypeSpec* type) {
  if (type->etype != kEveryOtherType && !IsName(type->etype)) {
    return Refuse(type->etype, "the name is neither * nor [A-Za-z0-9_-]{1,64}");
  }
  if (type->slots.empty()) return Refuse(type->etype, "it has no slots");
  if (type->slots.size() > kSlotsMax) {
    return Refuse(type->etype, "it has more than " + std::to_string(kSlotsMax) + " slots");
  }
  for (size_t i = 0; i < type->slots.size(); ++i) {
    SlotSpec* slot = &type->slots[i];
    if (Status s = NormaliseSlot(type->etype, slot); !s.ok()) return s;
    for (size_t j = 0; j < i; ++j) {
      if (type->slots[j].name == slot->name)
        return RefuseSlot(type->etype, *slot, "is there twice");
      // A flip is folded into one slot.
      if (slot->has_facts && type->slots[j].metric == slot->metric) {
        return RefuseSlot(type->etype, *slot, "counts a metric that another slot counts");
      }
    }
  }
  return Status();
}

// From the length, the first and the last bytes: cheap, and names that differ only in their middle
// merely share a probe sequence. Not for bytes whose number others choose: these come from the
// schema.
uint64_t TypeHash(std::string_view etype) {
  uint64_t word = etype.size();
  if (etype.size() >= 8) {
    word += LoadBigEndian<uint64_t>(etype.data());
    word ^= LoadBigEndian<uint64_t>(etype.data() + etype.size() - 8) * 31;
  } else if (etype.size() >= 4) {
    word += uint64_t{LoadBigEndian<uint32_t>(etype.data())} << 32;
    word ^= LoadBigEndian<uint32_t>(etype.data() + etype.size() - 4);
  } else {
    for (const char c : etype) word = word << 8 | static_cast<uint8_t>(c);
  }
  word *= 0x9e3779b97f4a7c15u;
  return word ^ (word >> 32);
}

// Slot and metric names share the engine's name table.
size_t DistinctNames(const SchemaSpec& spec) {
  std::set<std::string_view> names;
  for (const EntityTypeSpec& type : spec.types) {
    for (const SlotSpec& slot : type.slots) {
      names.insert(slot.name);
      if (slot.has_facts) names.insert(slot.metric);
    }
  }
  return names.size();
}

}  // namespace

SchemaSpec SchemaSpec::Default() {
  const auto slot = [](const char* name, bool has_counter) {
    return SlotSpec{name, name, 4, true, has_counter};
  };
  return SchemaSpec{{EntityTypeSpec{std::string(kEveryOtherType),
                                    {slot("like", false), slot("fav", false), slot("comment", true),
                                     slot("share", true), slot("view", true)}}}};
}

Result<Schema> Schema::Make(SchemaSpec spec) {
  if (spec.types.empty()) {
    return Fail(StatusCode::kInvalidArgument, "the schema has no entity type");
  }
  if (spec.types.size() > kEntityTypesMax) {
    return Fail(StatusCode::kInvalidArgument,
                "the schema has more than " + std::to_string(kEntityTypesMax) + " entity types");
  }
  for (EntityTypeSpec& type : spec.types) {
    if (Status s = NormaliseType(&type); !s.ok()) return Fail(std::move(s));
  }
  std::sort(spec.types.begin(), spec.types.end(),
            [](const EntityTypeSpec& a, const EntityTypeSpec& b) { return a.etype < b.etype; });
  for (size_t i = 1; i < spec.types.size(); ++i) {
    if (spec.types[i].etype == spec.types[i - 1].etype) {
      return Fail(Refuse(spec.types[i].etype, "it is there twice"));
    }
  }
  if (DistinctNames(spec) > kMetricsMax) {
    return Fail(StatusCode::kInvalidArgument, "the schema has more than " +
                                                  std::to_string(kMetricsMax) +
                                                  " different slot and metric names");
  }
  Schema schema;
  schema.spec_ = std::move(spec);
  schema.BuildIndex();
  return schema;
}

void Schema::BuildIndex() {
  static_assert(kEntityTypesMax < UINT16_MAX);
  index_.assign(std::bit_ceil(4 * spec_.types.size()), 0);
  const size_t mask = index_.size() - 1;
  for (size_t i = 0; i < spec_.types.size(); ++i) {
    size_t at = TypeHash(spec_.types[i].etype) & mask;
    while (index_[at] != 0) at = (at + 1) & mask;
    index_[at] = static_cast<uint16_t>(i + 1);
  }
}

const std::vector<SlotSpec>& Schema::Slots(std::string_view etype) const {
  static const std::vector<SlotSpec> kNone;
  if (etype.empty() || index_.empty()) return kNone;
  const size_t mask = index_.size() - 1;
  for (size_t at = TypeHash(etype) & mask; index_[at] != 0; at = (at + 1) & mask) {
    const EntityTypeSpec& type = spec_.types[index_[at] - 1u];
    if (type.etype == etype) return type.slots;
  }
  // "*" sorts before every name.
  const EntityTypeSpec& first = spec_.types.front();
  return first.etype == kEveryOtherType ? first.slots : kNone;
}

Result<EntityTypeSpec> ParseEntityType(std::string_view etype, std::string_view slots) {
  return Schema::ParseType(etype, slots);
}

}  // namespace tallystick
