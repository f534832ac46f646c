#include "tools/cli/progress.h"

#include "tools/cli/text.h"

#include <unistd.h>

#include <algorithm>

namespace tallystick {
namespace {

constexpr size_t kBarWidth = 30;
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLine = std::chrono::seconds(3);

}  // namespace

std::string FormatProgress(double fraction, uint64_t done, std::string_view unit, double seconds) {
  fraction = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<size_t>(fraction * kBarWidth);
  std::string line = "[" + std::string(filled, '=');
  if (filled < kBarWidth) line += ">" + std::string(kBarWidth - filled - 1, ' ');
  std::string percent = std::to_string(static_cast<int>(fraction * 100));
  percent.insert(0, 3 - percent.size(), ' ');
  line += "] " + percent + " %  " + Thousands(done) + " " + std::string(unit);
  if (seconds > 0) {
    const auto rate = static_cast<uint64_t>(static_cast<double>(done) / seconds);
    line += "  " + Thousands(rate) + " " + std::string(unit) + "/s";
  }
  return line;
}

Progress::Progress(std::FILE* out, std::string_view unit)
    : out_(out),
      unit_(unit),
      terminal_(isatty(fileno(out)) == 1),
      begin_(Clock::now()),
      next_(begin_ + (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kLine))) {}

void Progress::Update(double fraction, uint64_t done) {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kLine));
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const std::string line = FormatProgress(fraction, done, unit_, seconds);
  if (terminal_) {
    std::fprintf(out_, "\r%s\x1b[K", line.c_str());  // ESC [ K: erase to the end of the line
  } else {
    std::fprintf(out_, "%s\n", line.c_str());
  }
  std::fflush(out_);
  drawn_ = true;
}

void Progress::Finish() {
  if (terminal_ && drawn_) std::fputs("\r\x1b[K", out_);
  drawn_ = false;
}

}  // namespace tallystick
