#include "engine/plain_string.h"

#include <algorithm>
#include <bit>

namespace tallystick {

bool LivePlain(const PlainState& plain, uint64_t now_ms) {
  return plain.type != PlainType::kNone && (plain.expire_at_ms == 0 || plain.expire_at_ms > now_ms);
}

bool StringBit(std::string_view value, uint64_t bit) {
  const uint64_t byte = bit / 8;
  return byte < value.size() && ((static_cast<uint8_t>(value[byte]) >> (7 - bit % 8)) & 1) != 0;
}

void SetStringBit(std::string* value, uint64_t bit, bool on) {
  const uint64_t byte = bit / 8;
  if (byte >= value->size()) value->resize(byte + 1, '\0');
  const auto mask = static_cast<uint8_t>(1u << (7 - bit % 8));
  const auto old = static_cast<uint8_t>((*value)[byte]);
  (*value)[byte] = static_cast<char>(on ? old | mask : old & ~mask);
}

uint64_t StringBits(std::string_view value, UidRange range) {
  if (value.empty() || range.first >= value.size() * 8) return 0;
  const uint64_t last = std::min<uint64_t>(range.last, value.size() * 8 - 1);
  uint64_t count = 0;
  for (uint64_t bit = range.first; bit <= last;) {
    if (bit % 8 == 0 && bit + 7 <= last) {
      count += static_cast<uint64_t>(std::popcount(static_cast<unsigned char>(value[bit / 8])));
      bit += 8;
    } else {
      if (StringBit(value, bit)) ++count;
      ++bit;
    }
  }
  return count;
}

std::optional<uint64_t> FirstStringBit(std::string_view value, uint64_t from) {
  for (uint64_t bit = from; bit < value.size() * 8;) {
    if (bit % 8 == 0 && value[bit / 8] == 0) {
      bit += 8;
    } else if (StringBit(value, bit)) {
      return bit;
    } else {
      ++bit;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> LastStringBit(std::string_view value, UidRange range) {
  if (value.empty()) return std::nullopt;
  uint64_t bit = std::min<uint64_t>(range.last, value.size() * 8 - 1) + 1;
  while (bit-- > range.first) {
    if (StringBit(value, bit)) return bit;
  }
  return std::nullopt;
}

std::string BitsAsString(const MetricSet* bits, uint64_t bytes) {
  std::string value(bytes, '\0');
  if (bits != nullptr && bytes > 0) bits->set.ReadBits(0, bytes, value.data());
  return value;
}

}  // namespace tallystick
