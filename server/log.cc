#include "server/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>

#include "server/client_state.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

constexpr int64_t kTroubleLinesPerSecond = 10;

spdlog::logger& Sink() {
  static const std::shared_ptr<spdlog::logger> sink = [] {
    auto logger = std::make_shared<spdlog::logger>(
        "tallystick", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
    logger->flush_on(spdlog::level::trace);
    return logger;
  }();
  return *sink;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

class EngineLog : public Logger {
 public:
  void Write(LogLevel level, std::string_view line) override { Log(level, line); }
};

}  // namespace

void SetLogLevel(std::string_view word) {
  spdlog::level::level_enum level = spdlog::level::info;
  if (word == "debug" || word == "verbose") level = spdlog::level::debug;
  if (word == "warning") level = spdlog::level::warn;
  Sink().set_level(level);
}

void Log(LogLevel level, std::string_view line) {
  Sink().log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

void LogClientTrouble(const ClientState& client, std::string_view what) {
  static std::atomic<int64_t> second{0};
  static std::atomic<int64_t> lines{0};
  const int64_t now = MonotonicMs() / 1000;
  if (second.exchange(now, std::memory_order_relaxed) != now) {
    lines.store(0, std::memory_order_relaxed);
  }
  if (lines.fetch_add(1, std::memory_order_relaxed) >= kTroubleLinesPerSecond) return;
  LogWarn("client " + std::to_string(client.id) + " at " + client.address + ": " +
          EscapeBytes(what));
}

std::string EscapeBytes(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (char c : bytes.substr(0, kQuotedBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7e) {
      text.push_back(c);
    } else {
      text.append("\\x").push_back(kDigits[byte >> 4]);
      text.push_back(kDigits[byte & 15]);
    }
  }
  if (bytes.size() > kQuotedBytesMax) text.append("...");
  return text;
}

std::shared_ptr<Logger> EngineLogger() {
  return std::make_shared<EngineLog>();
}

}  // namespace tallystick::server
