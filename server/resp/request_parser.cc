#include "server/resp/request_parser.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

#include "server/resp/inline_words.h"
#include "server/resp/number.h"

namespace tallystick::server {

void RequestParser::Reset() {
  scan_ = 0;
  line_scan_ = 0;
  in_array_ = false;
  remaining_ = 0;
  bulk_known_ = false;
  bulk_bytes_ = 0;
  ranges_.clear();
}

ParseOutcome RequestParser::Fail(std::string text) {
  Reset();
  error_ = std::move(text);
  return ParseOutcome::kProtocolError;
}

ParseOutcome RequestParser::Next(char* data, size_t size, const ParserLimits& limits,
                                 size_t* consumed, std::vector<std::string_view>* arguments) {
  arguments->clear();
  *consumed = 0;
  while (*consumed < size) {
    char* begin = data + *consumed;
    const size_t available = size - *consumed;
    const bool array = in_array_ || begin[0] == '*';
    size_t length = 0;
    const ParseOutcome outcome = array ? NextArray(begin, available, limits, &length)
                                       : NextInline(begin, available, limits, &length, arguments);
    if (outcome == ParseOutcome::kIncomplete && available > limits.request_bytes_max) {
      return Fail("Protocol error: too big request");
    }
    if (outcome != ParseOutcome::kRequest) return outcome;
    assert(length > 0 && length <= available);
    if (array) {
      for (const auto& [offset, bytes] : ranges_) arguments->emplace_back(begin + offset, bytes);
    }
    *consumed += length;
    Reset();
    if (!arguments->empty()) return ParseOutcome::kRequest;
  }
  return ParseOutcome::kIncomplete;
}

RequestParser::Line RequestParser::FindHeaderEnd(const char* data, size_t size, size_t* end) {
  const size_t limit = std::min(size, scan_ + kInlineBytesMax + 1);
  for (size_t i = std::max(scan_, line_scan_); i < limit; ++i) {
    const char c = data[i];
    if (c == '\n') return Line::kMalformed;
    if (c == '\0') {  // as in Redis it hides the line's end: such a client runs into the limit
      line_scan_ = i;
      return size - scan_ > kInlineBytesMax ? Line::kTooLong : Line::kMissing;
    }
    if (c != '\r') continue;
    if (i + 1 == size) {
      line_scan_ = i;
      return Line::kMissing;
    }
    *end = i;
    line_scan_ = 0;
    return data[i + 1] == '\n' ? Line::kFound : Line::kMalformed;
  }
  line_scan_ = limit;
  return limit - scan_ > kInlineBytesMax ? Line::kTooLong : Line::kMissing;
}

ParseOutcome RequestParser::NextArray(char* data, size_t size, const ParserLimits& limits,
                                      size_t* length) {
  size_t end = 0;
  if (!in_array_) {
    switch (FindHeaderEnd(data, size, &end)) {
      case Line::kMissing:
        return ParseOutcome::kIncomplete;
      case Line::kTooLong:
        return Fail("Protocol error: too big mbulk count string");
      case Line::kMalformed:
        return Fail("Protocol error: invalid multibulk length");
      case Line::kFound:
        break;
    }
    const auto count = ParseInt64({data + 1, end - 1});
    if (!count || *count > static_cast<int64_t>(limits.arguments_max)) {
      return Fail("Protocol error: invalid multibulk length");
    }
    if (!limits.authenticated && *count > static_cast<int64_t>(kUnauthenticatedArgumentsMax)) {
      return Fail("Protocol error: unauthenticated multibulk length");
    }
    scan_ = end + 2;
    if (*count <= 0) {  // "*0", "*-1" and any other negative count: an empty request, ignored
      *length = scan_;
      return ParseOutcome::kRequest;
    }
    in_array_ = true;
    remaining_ = static_cast<uint64_t>(*count);
  }
  while (remaining_ > 0) {
    if (!bulk_known_) {
      if (scan_ >= size) return ParseOutcome::kIncomplete;
      if (data[scan_] != '$') {
        return Fail(std::string("Protocol error: expected '$', got '") + data[scan_] + "'");
      }
      switch (FindHeaderEnd(data, size, &end)) {
        case Line::kMissing:
          return ParseOutcome::kIncomplete;
        case Line::kTooLong:
          return Fail("Protocol error: too big bulk count string");
        case Line::kMalformed:
          return Fail("Protocol error: invalid bulk length");
        case Line::kFound:
          break;
      }
      const auto bytes = ParseInt64({data + scan_ + 1, end - scan_ - 1});
      if (!bytes || *bytes < 0 || *bytes > static_cast<int64_t>(limits.bulk_bytes_max)) {
        return Fail("Protocol error: invalid bulk length");
      }
      if (!limits.authenticated && *bytes > static_cast<int64_t>(kUnauthenticatedBulkBytesMax)) {
        return Fail("Protocol error: unauthenticated bulk length");
      }
      bulk_known_ = true;
      bulk_bytes_ = static_cast<size_t>(*bytes);
      scan_ = end + 2;
      if (scan_ + bulk_bytes_ > std::numeric_limits<uint32_t>::max()) {
        return Fail("Protocol error: too big request");
      }
    }
    if (size - scan_ < bulk_bytes_ + 2) {
      return ParseOutcome::kIncomplete;
    }
    if (data[scan_ + bulk_bytes_] != '\r' || data[scan_ + bulk_bytes_ + 1] != '\n') {
      return Fail("Protocol error: expected CRLF after bulk string");
    }
    ranges_.emplace_back(static_cast<uint32_t>(scan_), static_cast<uint32_t>(bulk_bytes_));
    scan_ += bulk_bytes_ + 2;
    bulk_known_ = false;
    --remaining_;
  }
  *length = scan_;
  return ParseOutcome::kRequest;
}

ParseOutcome RequestParser::NextInline(char* data, size_t size, const ParserLimits& limits,
                                       size_t* length, std::vector<std::string_view>* arguments) {
  // Like Redis's strchr, a NUL hides every later line end: such a client runs into the limit.
  const size_t limit = std::min(size, kInlineBytesMax + 2);
  const char* newline = nullptr;
  for (size_t i = line_scan_; i < limit; ++i) {
    if (data[i] == '\n') {
      newline = data + i;
      break;
    }
    if (data[i] == '\0') break;
    line_scan_ = i + 1;
  }
  if (newline == nullptr) {
    if (size > kInlineBytesMax) return Fail("Protocol error: too big inline request");
    return ParseOutcome::kIncomplete;
  }
  size_t line = static_cast<size_t>(newline - data);
  *length = line + 1;
  if (line > 0 && data[line - 1] == '\r') --line;
  if (!SplitInlineWords(data, line, arguments)) {
    return Fail("Protocol error: unbalanced quotes in request");
  }
  if (!limits.authenticated && arguments->size() > kUnauthenticatedArgumentsMax) {
    return Fail("Protocol error: unauthenticated multibulk length");
  }
  return ParseOutcome::kRequest;
}

}  // namespace tallystick::server
