// Schema: which slots every entity type has, checked once and then only looked up.
// Immutable after construction; thread-safe.
#pragma once

#include <tallystick/counts.h>
#include <tallystick/result.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

class Schema {
 public:
  // Checks names, widths, duplicates and limits; kInvalidArgument says what to mend.
  static Result<Schema> Make(SchemaSpec spec);

  const SchemaSpec& spec() const { return spec_; }
  // Slots of an entity type; those of "*" when it is not listed; none for "" (plain keys).
  const std::vector<SlotSpec>& Slots(std::string_view etype) const;

  // For meta: versioned text-free binary, sealed by the caller. Decode refuses what Make would.
  std::string Encode() const;
  static Result<Schema> Decode(std::string_view bytes);

  // "like:facts fav:facts comment:facts+counter view8:counter:8 followers=follow:facts", the form of
  // the configuration file: name[=metric][:facts|counter|facts+counter][:width], separated by blanks
  // or commas.
  static Result<EntityTypeSpec> ParseType(std::string_view etype, std::string_view slots);
  static std::string FormatSlots(const EntityTypeSpec& type);

 private:
  SchemaSpec spec_;
};

}  // namespace tallystick
