#include "engine/events/batch_format.h"

namespace tallystick::batch_format {

bool ParseDecimal(std::string_view text, uint64_t* value) {
  if (text.empty() || text.size() > kDecimalDigitsMax) return false;
  if (text[0] == '0' && text.size() > 1) return false;
  uint64_t sum = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint64_t digit = static_cast<uint64_t>(text[i]) - '0';
    if (digit > 9) return false;
    if (i == kDecimalDigitsMax - 1 && sum > (UINT64_MAX - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  *value = sum;
  return true;
}

}  // namespace tallystick::batch_format
