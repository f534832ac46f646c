#include "tools/cli/text.h"

namespace tallystick {
namespace {

constexpr size_t kQuotedBytesMax = 128;
constexpr char kDigits[] = "0123456789abcdef";

void AppendHex(char byte, std::string* out) {
  const auto value = static_cast<uint8_t>(byte);
  out->push_back(kDigits[value >> 4]);
  out->push_back(kDigits[value & 15]);
}

}  // namespace

std::string Quoted(std::string_view bytes) {
  std::string out = "\"";
  for (const char c : bytes.substr(0, kQuotedBytesMax)) {
    if (c >= 0x20 && c <= 0x7e && c != '"' && c != '\\') {
      out += c;
    } else {
      out += "\\x";
      AppendHex(c, &out);
    }
  }
  out += '"';
  if (bytes.size() > kQuotedBytesMax) out += "...";
  return out;
}

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) AppendHex(c, &out);
  return out;
}

std::string Thousands(uint64_t number) {
  std::string out = std::to_string(number);
  for (size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, 1, ',');
  return out;
}

}  // namespace tallystick
