#include "server/resp/number.h"

namespace tallystick::server {

namespace {

constexpr size_t kUint64DigitsMax = 20;

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::optional<uint64_t> ParseUint64(std::string_view text) {
  if (text.empty() || text.size() > kUint64DigitsMax) return std::nullopt;
  if (text[0] == '0') {
    if (text.size() != 1) return std::nullopt;
    return 0;
  }
  uint64_t value = 0;
  for (char c : text) {
    const unsigned digit = static_cast<unsigned char>(c) - unsigned{'0'};
    if (digit > 9) return std::nullopt;
    if (__builtin_mul_overflow(value, uint64_t{10}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, uint64_t{digit}, &value)) return std::nullopt;
  }
  return value;
}

std::optional<int64_t> ParseInt64(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  const std::optional<uint64_t> magnitude = ParseUint64(text);
  if (!magnitude) return std::nullopt;
  constexpr uint64_t kMax = INT64_MAX;
  if (!negative) {
    if (*magnitude > kMax) return std::nullopt;
    return static_cast<int64_t>(*magnitude);
  }
  if (*magnitude == 0 || *magnitude > kMax + 1) return std::nullopt;
  return static_cast<int64_t>(0 - *magnitude);
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (Lower(a[i]) != Lower(b[i])) return false;
  }
  return true;
}

}  // namespace tallystick::server
