// What a command works on: a server or a data directory; and how commands end.
#pragma once

#include "tools/cli/resp_client.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tallystick {

// Exit codes of `tallystick`, also in its --help.
enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,            // drift was found, or the command could not be carried out
  kUsage = 2,             // the command line is wrong
  kDirectoryRefused = 3,  // the data directory cannot be opened (in use, damaged, another format)
};

struct Endpoint {
  std::string dir;  // not empty: this directory, and the rest means nothing
  std::string host = "127.0.0.1";
  uint16_t port = 6379;
  std::string password;  // empty: none
};

// Connects and, with a password, authenticates.
Result<std::unique_ptr<RespClient>> ConnectTo(const Endpoint& endpoint);

// "tallystick: " and the message, to stderr; returns the code.
ExitCode FailWith(ExitCode code, const std::string& message);

}  // namespace tallystick
