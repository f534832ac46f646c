#include "engine/base/assert.h"
#include "engine/base/coding.h"
#include "engine/base/names.h"
#include "engine/events/batch_codec.h"

#include <tallystick/types.h>

namespace tallystick {

void EncodeReset(const std::vector<ResetSlot>& slots, std::string* payload) {
  TALLY_ASSERT(slots.size() <= kSlotsMax);
  payload->push_back(static_cast<char>(slots.size()));
  for (const ResetSlot& slot : slots) {
    TALLY_ASSERT(IsName(slot.slot));
    PutBytes(payload, slot.slot);
    PutVarint(payload, ZigZag(slot.facts));
    PutVarint(payload, ZigZag(slot.counter_part));
  }
}

bool DecodeReset(std::string_view payload, std::vector<ResetSlot>* slots) {
  slots->clear();
  ByteReader reader(payload);
  uint8_t count = 0;
  if (!reader.U8(&count) || count > kSlotsMax) return false;
  for (uint8_t i = 0; i < count; ++i) {
    ResetSlot slot;
    if (!reader.Bytes(&slot.slot) || !IsName(slot.slot) || !reader.SignedVarint(&slot.facts) ||
        !reader.SignedVarint(&slot.counter_part)) {
      return false;
    }
    slots->push_back(slot);
  }
  return reader.remaining() == 0;
}

}  // namespace tallystick
