// Any bytes as a count record: refused, or the one encoding of what it says. The first byte chooses
// the number of slots that the schema wants.
#include "engine/base/assert.h"
#include "engine/counts/sds_record.h"
#include "tests/fuzz/sealed_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tallystick;
  if (size == 0) return 0;
  const uint32_t slots = data[0] % (kSlotsMax + 1);
  fuzz::WithRecords(data + 1, size - 1, [slots](std::string_view record) {
    const Result<CountRecord> found = DecodeCountRecord(fuzz::kKey, record, slots);
    if (found.has_value()) {
      TALLY_ASSERT(found->slots == slots);
      TALLY_ASSERT(EncodeCountRecord(fuzz::kKey, *found) == record);
      return;
    }
    const StatusCode code = found.error().code();
    TALLY_ASSERT(code == StatusCode::kCorruption || code == StatusCode::kUnsupportedFormat);
  });
  return 0;
}
