// Replies of a RESP2 server: the value and its incremental parser. Pure: no sockets.
// Source: the Redis serialization protocol, https://redis.io/docs/reference/protocol-spec/
#pragma once

#include <tallystick/result.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

inline constexpr size_t kReplyLineBytesMax = 65536;       // a simple string, an error, a number
inline constexpr size_t kReplyBulkBytesMax = 512u << 20;  // Redis's own limit of a string
inline constexpr size_t kReplyItemsMax = 64u << 20;       // items of one array
inline constexpr size_t kReplyDepthMax = 16;              // arrays within arrays

struct RespReply {
  enum class Kind : uint8_t { kSimple, kError, kInteger, kBulk, kNil, kArray };
  Kind kind = Kind::kNil;
  int64_t integer = 0;           // kInteger
  std::string text;              // kSimple, kError (with its first word, such as "ERR"), kBulk
  std::vector<RespReply> items;  // kArray

  bool IsError() const { return kind == Kind::kError; }
  bool IsInteger() const { return kind == Kind::kInteger; }
  bool IsArray() const { return kind == Kind::kArray; }
  bool IsText() const { return kind == Kind::kSimple || kind == Kind::kBulk; }
  // The first word of an error ("BUSY"); empty for every other kind.
  std::string_view ErrorWord() const;
};

// The value of a field in a map, which RESP2 sends as an array of names and values in turn; nullptr
// when there is none or the reply is no map. O(fields).
const RespReply* FindField(const RespReply& map, std::string_view name);
// The same for a number, which may come as an integer or as text. False when there is none.
bool FindNumber(const RespReply& map, std::string_view name, int64_t* value);

// One line for messages: an integer as it is, a string quoted, an array as "array of N".
std::string Describe(const RespReply& reply);

// Cuts replies out of a stream of bytes. Keeps what is incomplete; never allocates by a length that
// the other side only announces. Not thread-safe.
class RespReplyParser {
 public:
  // Takes the bytes over (a copy). O(bytes).
  void Feed(std::string_view bytes);
  // True: *reply is the next one. False: more bytes are needed. kCorruption: these bytes are no
  // RESP2; every later call says so too.
  Result<bool> Next(RespReply* reply);
  // Bytes fed and not yet returned as part of a reply.
  size_t buffered() const { return buffer_.size() - position_; }

 private:
  struct OpenArray {
    RespReply reply;
    size_t missing = 0;
  };
  enum class Step : uint8_t { kElement, kOpenedArray, kNeedMore, kBroken };

  Step ParseElement(RespReply* element);
  Step Broken(std::string why);

  std::string buffer_;
  size_t position_ = 0;  // start of the first byte not yet consumed
  std::vector<OpenArray> open_;
  std::string broken_;  // why the stream is unusable; empty while it is fine
};

}  // namespace tallystick
