// How far a long command is: a bar that is redrawn on a terminal, a line every few seconds
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tallystick {

// "[=====>    ]  43 %  231,000 rows  118,000 rows/s"
std::string FormatProgress(double fraction, uint64_t done, std::string_view unit, double seconds);

// Not thread-safe. Update is cheap when nothing is due.
class Progress {
 public:
  // `unit` is the plural of what is counted.
  Progress(std::FILE* out, std::string_view unit);
  void Update(double fraction, uint64_t done);
  // Clears or ends the line, so that other output can follow.
  void Finish();

 private:
  using Clock = std::chrono::steady_clock;
  std::FILE* const out_;
  const std::string unit_;
  const bool terminal_;
  const Clock::time_point begin_;
  Clock::time_point next_;
  bool drawn_ = false;
};

}  // namespace tallystick
