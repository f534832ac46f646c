// Any bytes from a socket, cut anywhere: the parser stays within the buffer, and the requests and
// the error do not depend on how the bytes were cut.
#include "server/resp/request_parser.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/assert.h"

namespace tallystick::server {
namespace {

struct Parsed {
  std::vector<std::vector<std::string>> requests;
  std::string error;
};

// Small limits, so that short inputs reach them.
ParserLimits SmallLimits(bool authenticated) {
  ParserLimits limits;
  limits.bulk_bytes_max = 1000;
  limits.arguments_max = 50;
  limits.authenticated = authenticated;
  return limits;
}

Parsed Parse(std::string bytes, size_t piece, const ParserLimits& limits) {
  Parsed parsed;
  RequestParser parser;
  std::vector<std::string_view> arguments;
  size_t begin = 0;
  size_t end = 0;
  while (end < bytes.size()) {
    end = std::min(bytes.size(), end + piece);
    while (true) {
      size_t consumed = 0;
      const ParseOutcome outcome =
          parser.Next(bytes.data() + begin, end - begin, limits, &consumed, &arguments);
      TALLY_ASSERT(consumed <= end - begin);
      if (outcome == ParseOutcome::kProtocolError) {
        parsed.error = parser.error();
        TALLY_ASSERT(!parsed.error.empty());
        return parsed;
      }
      begin += consumed;
      if (outcome == ParseOutcome::kIncomplete) break;
      TALLY_ASSERT(!arguments.empty() && arguments.size() <= bytes.size());
      for (std::string_view argument : arguments) {
        TALLY_ASSERT(argument.data() >= bytes.data());
        TALLY_ASSERT(argument.data() + argument.size() <= bytes.data() + begin);
      }
      parsed.requests.emplace_back(arguments.begin(), arguments.end());
    }
  }
  return parsed;
}

}  // namespace
}  // namespace tallystick::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tallystick::server;
  if (size < 2) return 0;
  const size_t piece = 1 + data[0] % 16;
  const ParserLimits limits = SmallLimits(data[1] % 2 == 0);
  const std::string bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  const Parsed whole = Parse(bytes, bytes.size() + 1, limits);
  const Parsed cut = Parse(bytes, piece, limits);
  TALLY_ASSERT(whole.requests == cut.requests);
  TALLY_ASSERT(whole.error == cut.error);
  return 0;
}
