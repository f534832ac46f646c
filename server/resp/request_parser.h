// RequestParser: bytes from a client to requests, one after the other.
//
// Speaks what Redis 7.0 speaks: arrays of bulk strings (RESP) and inline lines with Redis's
// quoting. Error texts are Redis's. Two departures, both stricter: the two bytes after a bulk must
// be CR LF, and a header line that ends in a bare LF is an error at once instead of an endless
// wait.
//
// The parser never copies payload and never allocates ahead of received bytes: arguments are views
// into the caller's buffer, and it keeps offsets only (8 bytes per argument received so far). It
// remembers how far it has looked, so a request that arrives byte by byte costs O(bytes) in all.
// One parser per connection; not thread-safe; pure (no sockets, no clock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tallystick::server {

// Redis's PROTO_INLINE_MAX_SIZE: longest inline request and longest header line, in bytes.
inline constexpr size_t kInlineBytesMax = 64 * 1024;
// Redis's limits for a client that has not yet authenticated.
inline constexpr uint64_t kUnauthenticatedArgumentsMax = 10;
inline constexpr uint64_t kUnauthenticatedBulkBytesMax = 16384;

struct ParserLimits {
  uint64_t bulk_bytes_max = 16u << 20;      // proto-max-bulk-len
  uint64_t arguments_max = 1048576;         // arguments of one request
  uint64_t request_bytes_max = 256u << 20;  // client-query-buffer-limit
  bool authenticated = true;
};

enum class ParseOutcome {
  kIncomplete,     // more bytes are needed
  kRequest,        // one request is complete
  kProtocolError,  // error() says what; the connection is to be closed after that reply
};

class RequestParser {
 public:
  // Looks for the next request in [data, data + size): the bytes that no earlier call has consumed.
  // *consumed is set to the bytes that the caller may drop: the whole request for kRequest, and
  // skipped empty requests (blank lines, "*0") in any case. The next call must start after them.
  //
  // kRequest: *arguments (cleared first) holds at least one view, valid while the buffer is. Quoted
  // inline arguments are unescaped in place, which is why data is mutable.
  ParseOutcome Next(char* data, size_t size, const ParserLimits& limits, size_t* consumed,
                    std::vector<std::string_view>* arguments);

  // Redis's words without "ERR " in front. Valid after kProtocolError.
  std::string_view error() const { return error_; }

  // Bytes still missing for the bulk that is being received: a hint for sizing reads, 0 if unknown.
  size_t missing_bytes(size_t size) const {
    const size_t needed = bulk_known_ ? scan_ + bulk_bytes_ + 2 : 0;
    return needed > size ? needed - size : 0;
  }

 private:
  ParseOutcome NextArray(char* data, size_t size, const ParserLimits& limits, size_t* length);
  ParseOutcome NextInline(char* data, size_t size, const ParserLimits& limits, size_t* length,
                          std::vector<std::string_view>* arguments);
  // Finds the CR LF that ends a header line starting at scan_; *end is the offset of the CR.
  enum class Line { kFound, kMissing, kMalformed, kTooLong };
  Line FindHeaderEnd(const char* data, size_t size, size_t* end);
  ParseOutcome Fail(std::string text);
  void Reset();

  size_t scan_ = 0;          // offset of the next byte to look at, from the request's start
  size_t line_scan_ = 0;     // how far an unfinished line has been searched
  bool in_array_ = false;    // the count line has been read
  uint64_t remaining_ = 0;   // arguments still to come
  bool bulk_known_ = false;  // the length line of the current bulk has been read
  size_t bulk_bytes_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> ranges_;  // offset and length of each argument
  std::string error_;
};

}  // namespace tallystick::server
