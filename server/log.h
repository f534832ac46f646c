// The server's log: one line per event to stderr, by spdlog behind this front (log.cc).
// Thread-safe. Bytes that came from a client are escaped before they get here (EscapeBytes).
#pragma once

#include <tallystick/options.h>

#include <memory>
#include <string>
#include <string_view>

namespace tallystick::server {

struct ClientState;

inline constexpr size_t kQuotedBytesMax = 128;  // of client bytes in one log line

// Sets the level: debug, verbose, notice or warning (Redis's words).
void SetLogLevel(std::string_view word);
void Log(LogLevel level, std::string_view line);
inline void LogInfo(std::string_view line) {
  Log(LogLevel::kInfo, line);
}
inline void LogWarn(std::string_view line) {
  Log(LogLevel::kWarn, line);
}

// A line about what a client did wrong; at most 10 such lines per second, the rest are only
// counted.
void LogClientTrouble(const ClientState& client, std::string_view what);

// Every byte outside 0x20..0x7e becomes \xHH; at most kQuotedBytesMax bytes are shown.
std::string EscapeBytes(std::string_view bytes);

// Passes the engine's lines on to this log.
std::shared_ptr<Logger> EngineLogger();

}  // namespace tallystick::server
