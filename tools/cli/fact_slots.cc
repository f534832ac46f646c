#include "tools/cli/fact_slots.h"

namespace tallystick {

std::optional<size_t> FindFactSlot(const std::vector<SlotSpec>& slots, std::string_view metric) {
  for (size_t i = 0; i < slots.size(); ++i) {
    const std::string_view counted = slots[i].metric.empty() ? slots[i].name : slots[i].metric;
    if (slots[i].has_facts && counted == metric) return i;
  }
  return std::nullopt;
}

const std::vector<SlotSpec>* FindSlots(const SchemaSpec& schema, std::string_view etype) {
  const std::vector<SlotSpec>* any = nullptr;
  for (const EntityTypeSpec& type : schema.types) {
    if (type.etype == etype) return &type.slots;
    if (type.etype == "*") any = &type.slots;
  }
  return any;
}

std::string NoFactSlotMessage(std::string_view metric, std::string_view etype) {
  const std::string m(metric);
  const std::string e(etype);
  return "the schema has no slot that counts facts of metric " + m + " for entity type " + e +
         ": add \"" + m + ":facts\" to the line of " + e +
         " (or of \"*\") in the section [schema] of the configuration; the schema is fixed when a "
         "data "
         "directory is made";
}

}  // namespace tallystick
