// Which slot of an entity type counts the facts of a metric.
#pragma once

#include <tallystick/counts.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

// The index of the slot, or nullopt when no slot counts them.
std::optional<size_t> FindFactSlot(const std::vector<SlotSpec>& slots, std::string_view metric);

// The slots of a type; those of "*" when it is not listed; nullptr when there is no "*" either.
const std::vector<SlotSpec>* FindSlots(const SchemaSpec& schema, std::string_view etype);

// What to say when there is none: names the line of the configuration file that is needed.
std::string NoFactSlotMessage(std::string_view metric, std::string_view etype);

}  // namespace tallystick
