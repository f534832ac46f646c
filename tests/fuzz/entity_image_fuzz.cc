// Any bytes as an entity image: refused, or the one encoding of what it says.
#include "engine/base/assert.h"
#include "engine/facts/entity_image.h"
#include "tests/fuzz/sealed_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tallystick;
  fuzz::WithRecords(data, size, [](std::string_view record) {
    EntityImage image;
    const Status s = DecodeEntityImage(fuzz::kKey, record, &image);
    if (s.ok()) {
      TALLY_ASSERT(EncodeEntityImage(fuzz::kKey, image) == record);
      return;
    }
    TALLY_ASSERT(s.code() == StatusCode::kCorruption || s.code() == StatusCode::kUnsupportedFormat);
  });
  return 0;
}
