#include "server/error_reply.h"

#include <algorithm>

namespace tallystick::server {

namespace {

constexpr size_t kQuotedBytesMax = 128;  // Redis quotes no more of an unknown command

// What printf's %.Ns shows: at most `limit` bytes, ending at a NUL.
std::string_view Shown(std::string_view text, size_t limit) {
  text = text.substr(0, text.find('\0'));
  return text.substr(0, limit);
}

}  // namespace

std::string_view StatusCodeError(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      break;
    case StatusCode::kInvalidArgument:
      return "ERR invalid argument";
    case StatusCode::kWrongType:
      return error::kWrongType;
    case StatusCode::kBusy:
      return "BUSY the event ring stayed full; nothing was changed, try again later";
    case StatusCode::kReadOnly:
      return "MISCONF the journal is not writable; writes are refused until a restart, see INFO "
             "journal";
    case StatusCode::kLoading:
      return "LOADING Tallystick is loading the dataset in memory";
    case StatusCode::kOutOfMemory:
      return "OOM command not allowed when used memory > 'maxmemory'.";
    case StatusCode::kCorruption:
      return "CORRUPT stored bytes of this key are damaged and could not be healed, see the log";
    case StatusCode::kIoError:
      return "IOERR the operating system failed a read, see the log";
    case StatusCode::kUnsupportedFormat:
      return "ERR stored by a version that this one cannot read";
    case StatusCode::kLocked:
      return "ERR the data directory is locked by another process";
    case StatusCode::kDataLoss:
      return "CORRUPT durable journal has vanished";
    case StatusCode::kTimedOut:
      return "ERR timed out";
    case StatusCode::kOverflow:
      return "ERR increment or decrement would overflow";
    case StatusCode::kTooLarge:
      return "ERR the argument or answer is beyond a limit";
  }
  return "ERR internal error";
}

std::string StatusError(const Status& status) {
  const std::string_view words = StatusCodeError(status.code());
  if (status.message().empty()) return std::string(words);
  switch (status.code()) {
    case StatusCode::kWrongType:
    case StatusCode::kOverflow:
    case StatusCode::kOutOfMemory:
      return std::string(words);  // exactly Redis's words
    default:
      break;
  }
  std::string text(words.substr(0, words.find(' ') + 1));
  return text.append(status.message());
}

std::string UnknownCommandError(std::span<const std::string_view> arguments) {
  std::string shown;
  for (std::string_view argument : arguments.subspan(1)) {
    if (shown.size() >= kQuotedBytesMax) break;
    const size_t room = kQuotedBytesMax - shown.size();
    shown.append("'").append(Shown(argument, room)).append("' ");
  }
  std::string text = "ERR unknown command '";
  text.append(Shown(arguments[0], kQuotedBytesMax));
  return text.append("', with args beginning with: ").append(shown);
}

std::string UnknownSubcommandError(std::string_view command, std::string_view subcommand) {
  std::string name(command);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  std::string text = "ERR unknown subcommand '";
  text.append(Shown(subcommand, kQuotedBytesMax));
  return text.append("'. Try ").append(name).append(" HELP.");
}

std::string ArityError(std::string_view full_name) {
  std::string text = "ERR wrong number of arguments for '";
  return text.append(full_name).append("' command");
}

std::string InvalidExpireError(std::string_view command) {
  std::string text = "ERR invalid expire time in '";
  return text.append(command).append("' command");
}

}  // namespace tallystick::server
