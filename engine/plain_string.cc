#include "engine/plain_string.h"

#include "engine/base/coding.h"

#include <algorithm>
#include <bit>
#include <cstring>

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

namespace {

// The 64 bits from bit `word` * 64 on, the first one highest; what lies behind the end is 0.
uint64_t WordAt(std::string_view value, uint64_t word) {
  uint64_t bytes = 0;
  const size_t at = word * 8;
  std::memcpy(&bytes, value.data() + at, std::min<size_t>(8, value.size() - at));
  return ByteSwap(bytes);
}

// Of a word, the bits first .. last (0 to 63, the highest first).
uint64_t Between(uint64_t first, uint64_t last) {
  return (~uint64_t{0} >> first) & (~uint64_t{0} << (63 - last));
}

// Calls visit(word, mask) for each word of the string that range touches, ascending, until it says
// false.
template <typename Visit>
void ForEachWord(std::string_view value, UidRange range, Visit visit) {
  if (value.empty() || range.first > range.last || range.first >= value.size() * 8) return;
  const uint64_t last = std::min<uint64_t>(range.last, value.size() * 8 - 1);
  for (uint64_t word = range.first / 64; word <= last / 64; ++word) {
    const uint64_t mask = Between(word == range.first / 64 ? range.first % 64 : 0,
                                  word == last / 64 ? last % 64 : 63);
    if (!visit(word, mask)) return;
  }
}

}  // namespace

uint64_t StringBits(std::string_view value, UidRange range) {
  uint64_t count = 0;
  ForEachWord(value, range, [&](uint64_t word, uint64_t mask) {
    count += static_cast<uint64_t>(std::popcount(WordAt(value, word) & mask));
    return true;
  });
  return count;
}

std::optional<uint64_t> FirstStringBit(std::string_view value, UidRange range, bool on) {
  std::optional<uint64_t> found;
  ForEachWord(value, range, [&](uint64_t word, uint64_t mask) {
    const uint64_t bits = WordAt(value, word);
    if (const uint64_t wanted = (on ? bits : ~bits) & mask; wanted != 0)
      found = word * 64 + static_cast<uint64_t>(std::countl_zero(wanted));
    return !found;
  });
  if (found || on || range.first > range.last) return found;
  const uint64_t beyond = std::max<uint64_t>(range.first, value.size() * 8);
  return beyond <= range.last ? std::optional(beyond) : std::nullopt;
}

std::optional<uint64_t> LastStringBit(std::string_view value, UidRange range) {
  if (value.empty() || range.first > range.last || range.first >= value.size() * 8)
    return std::nullopt;
  const uint64_t last = std::min<uint64_t>(range.last, value.size() * 8 - 1);
  for (uint64_t word = last / 64 + 1; word-- > range.first / 64;) {
    const uint64_t mask = Between(word == range.first / 64 ? range.first % 64 : 0,
                                  word == last / 64 ? last % 64 : 63);
    if (const uint64_t wanted = WordAt(value, word) & mask; wanted != 0)
      return word * 64 + 63 - static_cast<uint64_t>(std::countr_zero(wanted));
  }
  return std::nullopt;
}

std::string BitsAsString(const MetricSet* bits, uint64_t bytes) {
  std::string value(bytes, '\0');
  if (bits != nullptr && bytes > 0) bits->set.ReadBits(0, bytes, value.data());
  return value;
}

}  // namespace tallystick
