// ReplyWriter: replies to bytes, in RESP2 or RESP3.
//
// Where the protocols differ the caller says what it means (a map, a set, null) and the writer
// picks the form: RESP2 gets flat arrays and $-1, RESP3 gets %, ~ and _. Not thread-safe; appends
// to a buffer that it does not own; allocation only when that buffer grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tallystick::server {

class ReplyWriter {
 public:
  ReplyWriter(std::string* out, int protocol) : out_(out), protocol_(protocol) {}

  // 2 or 3; HELLO changes it.
  int protocol() const { return protocol_; }
  void set_protocol(int protocol) { protocol_ = protocol; }

  size_t size() const { return out_->size(); }
  // Takes back everything written after `size` bytes.
  void Truncate(size_t size) { out_->resize(size); }

  // "+text". No CR or LF may be in it.
  void Simple(std::string_view text);
  void Ok() { out_->append("+OK\r\n"); }
  // "-text": the error word is part of text. CR and LF become blanks, as in Redis.
  void Error(std::string_view text);
  void Integer(int64_t value);
  void Unsigned(uint64_t value);  // as an integer; clamps at INT64_MAX, the largest RESP knows
  void Bulk(std::string_view bytes);
  // The decimal form as a bulk string: how uids travel.
  void BulkNumber(uint64_t value);
  void Null();
  void NullArray();
  void Array(size_t elements) { Header('*', elements); }
  // A map of `pairs`; the caller then writes key and value of each.
  void Map(size_t pairs);
  void Set(size_t elements);
  // Text for people (INFO, CLIENT LIST): a verbatim string in RESP3.
  void Verbatim(std::string_view text);

 private:
  void Header(char type, size_t count);

  std::string* out_;
  int protocol_;
};

}  // namespace tallystick::server
