#include "server/resp/reply_writer.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace tallystick::server {

namespace {

constexpr size_t kDecimalBytesMax = 20;  // of a 64-bit number, sign included

template <typename T>
char* WriteDecimal(char* begin, T value) {
  return std::to_chars(begin, begin + kDecimalBytesMax, value).ptr;
}

}  // namespace

void ReplyWriter::Header(char type, size_t count) {
  char buffer[kDecimalBytesMax + 3];
  buffer[0] = type;
  char* end = WriteDecimal(buffer + 1, count);
  *end++ = '\r';
  *end++ = '\n';
  out_->append(buffer, static_cast<size_t>(end - buffer));
}

void ReplyWriter::Simple(std::string_view text) {
  out_->push_back('+');
  out_->append(text);
  out_->append("\r\n");
}

void ReplyWriter::Error(std::string_view text) {
  out_->push_back('-');
  const size_t begin = out_->size();
  out_->append(text);
  std::replace_if(
      out_->begin() + static_cast<std::ptrdiff_t>(begin), out_->end(),
      [](char c) { return c == '\r' || c == '\n'; }, ' ');
  out_->append("\r\n");
}

void ReplyWriter::Integer(int64_t value) {
  if (value == 0) {
    out_->append(":0\r\n", 4);
    return;
  }
  if (value == 1) {
    out_->append(":1\r\n", 4);
    return;
  }
  char buffer[kDecimalBytesMax + 3];
  buffer[0] = ':';
  char* end = WriteDecimal(buffer + 1, value);
  *end++ = '\r';
  *end++ = '\n';
  out_->append(buffer, static_cast<size_t>(end - buffer));
}

void ReplyWriter::Unsigned(uint64_t value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  Integer(static_cast<int64_t>(std::min(value, kMax)));
}

void ReplyWriter::Bulk(std::string_view bytes) {
  Header('$', bytes.size());
  out_->append(bytes);
  out_->append("\r\n", 2);
}

void ReplyWriter::BulkNumber(uint64_t value) {
  char buffer[kDecimalBytesMax];
  const char* end = WriteDecimal(buffer, value);
  Bulk({buffer, static_cast<size_t>(end - buffer)});
}

void ReplyWriter::Null() {
  out_->append(protocol_ >= 3 ? "_\r\n" : "$-1\r\n");
}

void ReplyWriter::NullArray() {
  out_->append(protocol_ >= 3 ? "_\r\n" : "*-1\r\n");
}

void ReplyWriter::Map(size_t pairs) {
  if (protocol_ >= 3) {
    Header('%', pairs);
  } else {
    Header('*', pairs * 2);
  }
}

void ReplyWriter::Set(size_t elements) {
  Header(protocol_ >= 3 ? '~' : '*', elements);
}

void ReplyWriter::Verbatim(std::string_view text) {
  if (protocol_ < 3) {
    Bulk(text);
    return;
  }
  Header('=', text.size() + 4);
  out_->append("txt:");
  out_->append(text);
  out_->append("\r\n");
}

}  // namespace tallystick::server
