#include "engine/base/log.h"

#include <cstdio>

namespace tallystick {
namespace {

class StderrLogger final : public Logger {
 public:
  void Write(LogLevel level, std::string_view line) override {
    if (level < LogLevel::kWarn) return;
    std::fprintf(stderr, "tallystick: %s: %.*s\n", level == LogLevel::kWarn ? "warning" : "error",
                 static_cast<int>(line.size()), line.data());
  }
};

}  // namespace

std::string Escaped(std::string_view bytes) {
  constexpr size_t kBytesMax = 128;
  constexpr char kHex[] = "0123456789abcdef";
  std::string text = "'";
  for (const char c : bytes.substr(0, kBytesMax)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte > 0x7e || c == '\'' || c == '\\') {
      text += "\\x";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    } else {
      text += c;
    }
  }
  text += bytes.size() > kBytesMax ? "...'" : "'";
  return text;
}

Log::Log(std::shared_ptr<Logger> logger)
    : logger_(logger ? std::move(logger) : std::make_shared<StderrLogger>()) {}

}  // namespace tallystick
