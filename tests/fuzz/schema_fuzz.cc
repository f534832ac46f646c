// Any bytes as a stored schema: refused, or the one encoding of a schema that Make accepts. Any
// text as the configuration's form of a type's slots: refused, or a type that survives being
// written out.
#include "engine/base/assert.h"
#include "engine/counts/schema.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tallystick {
namespace {

void CheckBinary(std::string_view bytes) {
  const Result<Schema> schema = Schema::Decode(bytes);
  if (schema.has_value()) {
    TALLY_ASSERT(schema->Encode() == bytes);
    TALLY_ASSERT(Schema::Make(schema->spec())->spec() == schema->spec());
    for (const EntityTypeSpec& type : schema->spec().types) {
      TALLY_ASSERT(schema->Slots(type.etype) == type.slots);
    }
    return;
  }
  const StatusCode code = schema.error().code();
  TALLY_ASSERT(code == StatusCode::kCorruption || code == StatusCode::kUnsupportedFormat);
}

void CheckText(std::string_view text) {
  const Result<EntityTypeSpec> type = Schema::ParseType("article", text);
  if (type.has_value()) {
    TALLY_ASSERT(Schema::ParseType("article", Schema::FormatSlots(*type)) == *type);
    return;
  }
  TALLY_ASSERT(type.error().code() == StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tallystick

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(size == 0 ? "" : reinterpret_cast<const char*>(data), size);
  tallystick::CheckBinary(bytes);
  tallystick::CheckText(bytes);
  return 0;
}
