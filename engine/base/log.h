// The logging front: formats a line and hands it to the Logger of the options. Bytes that came from
// outside go through Escaped().
#pragma once

#include <tallystick/options.h>

#include <memory>
#include <string>
#include <string_view>

namespace tallystick {

// Quoted, with every byte outside 0x20-0x7e, quotes and backslashes written as \xNN; at most 128
// bytes of input, then "...".
std::string Escaped(std::string_view bytes);

class Log {
 public:
  explicit Log(std::shared_ptr<Logger> logger);  // null: warnings and errors to stderr
  void Debug(std::string_view line) const { logger_->Write(LogLevel::kDebug, line); }
  void Info(std::string_view line) const { logger_->Write(LogLevel::kInfo, line); }
  void Warn(std::string_view line) const { logger_->Write(LogLevel::kWarn, line); }
  void Error(std::string_view line) const { logger_->Write(LogLevel::kError, line); }

 private:
  std::shared_ptr<Logger> logger_;
};

}  // namespace tallystick
