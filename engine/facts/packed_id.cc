#include "engine/facts/packed_id.h"

#include "engine/base/assert.h"
#include "engine/base/coding.h"
#include "engine/facts/eid.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

namespace tallystick {
namespace {

constexpr size_t kShortBytesMax = 126;
constexpr uint8_t kLong = 127;         // u16 length follows
constexpr uint8_t kNumber = 128;       // + bytes of the number, 0 to 8
constexpr uint8_t kUuid = 144;         // 16 bytes follow
constexpr size_t kUuidTextBytes = 36;  // 8-4-4-4-12 hexadecimal digits

uint8_t First(const char* packed) {
  return static_cast<uint8_t>(*packed);
}

bool IsDash(size_t at) {
  return at == 8 || at == 13 || at == 18 || at == 23;
}

std::optional<uint8_t> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

bool ParseUuid(std::string_view text, std::array<char, 16>* uuid) {
  if (text.size() != kUuidTextBytes) return false;
  size_t digits = 0;
  uint8_t high = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDash(i)) {
      if (text[i] != '-') return false;
      continue;
    }
    const std::optional<uint8_t> digit = HexDigit(text[i]);
    if (!digit) return false;
    if (digits % 2 == 0) {
      high = *digit;
    } else {
      (*uuid)[digits / 2] = static_cast<char>(high << 4 | *digit);
    }
    ++digits;
  }
  return true;
}

void PrintUuid(std::string_view bytes, std::string* text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const size_t begin = text->size();
  for (const char c : bytes) {
    if (IsDash(text->size() - begin)) text->push_back('-');
    text->push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
    text->push_back(kDigits[static_cast<uint8_t>(c) & 15]);
  }
}

}  // namespace

void PackId(std::string_view id, std::string* packed) {
  TALLY_ASSERT(!id.empty() && id.size() <= kIdBytesMax);
  if (const std::optional<uint64_t> number = CanonicalNumber(id)) {
    char bytes[8];
    const uint64_t swapped = ByteSwap(*number);
    std::memcpy(bytes, &swapped, sizeof(bytes));
    size_t skip = 0;
    while (skip < sizeof(bytes) && bytes[skip] == 0) ++skip;
    packed->push_back(static_cast<char>(kNumber + (sizeof(bytes) - skip)));
    packed->append(bytes + skip, sizeof(bytes) - skip);
    return;
  }
  if (std::array<char, 16> uuid; ParseUuid(id, &uuid)) {
    packed->push_back(static_cast<char>(kUuid));
    packed->append(uuid.data(), uuid.size());
    return;
  }
  if (id.size() <= kShortBytesMax) {
    packed->push_back(static_cast<char>(id.size()));
  } else {
    packed->push_back(static_cast<char>(kLong));
    PutU16(packed, static_cast<uint16_t>(id.size()));
  }
  packed->append(id);
}

size_t PackedIdBytes(const char* packed) {
  const uint8_t first = First(packed);
  if (first <= kShortBytesMax) return 1u + first;
  if (first == kLong) return 3u + LoadBigEndian<uint16_t>(packed + 1);
  if (first == kUuid) return 17;
  TALLY_ASSERT(first >= kNumber && first <= kNumber + 8);
  return 1u + first - kNumber;
}

bool UnpackId(std::string_view packed, std::string* id) {
  const size_t begin = id->size();
  if (packed.empty()) return false;
  const uint8_t first = First(packed.data());
  if (first >= kNumber && first <= kNumber + 8) {
    if (packed.size() != 1u + first - kNumber) return false;
    uint64_t number = 0;
    for (const char c : packed.substr(1)) number = number << 8 | static_cast<uint8_t>(c);
    char text[20];
    const std::to_chars_result written = std::to_chars(text, text + sizeof(text), number);
    id->append(text, written.ptr);
  } else if (first == kUuid) {
    if (packed.size() != 17) return false;
    PrintUuid(packed.substr(1), id);
  } else if (first >= 1 && first <= kShortBytesMax) {
    if (packed.size() != 1u + first) return false;
    id->append(packed.substr(1));
  } else if (first == kLong && packed.size() > 3) {
    if (packed.size() != PackedIdBytes(packed.data())) return false;
    if (packed.size() > kPackedIdBytesMax) return false;
    id->append(packed.substr(3));
  } else {
    return false;
  }
  std::string again;  // one form only
  PackId(std::string_view(*id).substr(begin), &again);
  if (again == packed) return true;
  id->resize(begin);
  return false;
}

}  // namespace tallystick
