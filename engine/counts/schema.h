// Schema: which slots every entity type has, checked once and then only looked up.
// Immutable after construction; thread-safe.
#pragma once

#include <tallystick/counts.h>
#include <tallystick/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

inline constexpr uint8_t kSchemaVersion = 1;

class Schema {
 public:
  // Checks names, widths, duplicates and limits; kInvalidArgument says what to mend. What is kept
  // is normal: entity types ascending, the metric of every slot with facts written out. Two schemas
  // mean the same exactly when their spec() are equal.
  static Result<Schema> Make(SchemaSpec spec);

  const SchemaSpec& spec() const { return spec_; }
  // Slots of an entity type; those of "*" when it is not listed; none for "" (plain keys) and where
  // there is no "*". O(1), no allocation; valid as long as this Schema.
  const std::vector<SlotSpec>& Slots(std::string_view etype) const;

  // For meta: versioned binary, sealed by the caller; layout in docs/formats/meta.md. Decode takes
  // any bytes: kCorruption (also for what Make would refuse) or kUnsupportedFormat.
  std::string Encode() const;
  static Result<Schema> Decode(std::string_view bytes);

  // "like:facts fav:facts comment:facts+counter view8:counter:8 followers=follow:facts", the form
  // of the configuration file: name[=metric][:facts|counter|facts+counter][:width], separated by
  // blanks or commas; facts and 4 when left out. The result is normal and passes Make.
  static Result<EntityTypeSpec> ParseType(std::string_view etype, std::string_view slots);
  static std::string FormatSlots(const EntityTypeSpec& type);

 private:
  void BuildIndex();

  SchemaSpec spec_;
  // Open addressing with linear probing: position in spec_.types + 1, 0 where there is none.
  std::vector<uint16_t> index_;
};

}  // namespace tallystick
