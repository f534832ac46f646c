#include "tools/cli/resp_reply.h"

#include <cassert>
#include <charconv>

namespace tallystick {
namespace {

constexpr size_t kCompactBytes = 1u << 16;  // consumed bytes that are worth moving the rest for

bool ParseInteger(std::string_view digits, int64_t* value) {
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, *value);
  return error == std::errc() && stop == end;
}

}  // namespace

std::string_view RespReply::ErrorWord() const {
  if (!IsError()) return {};
  return std::string_view(text).substr(0, text.find(' '));
}

const RespReply* FindField(const RespReply& map, std::string_view name) {
  if (!map.IsArray() || map.items.size() % 2 != 0) return nullptr;
  for (size_t i = 0; i < map.items.size(); i += 2) {
    if (map.items[i].IsText() && map.items[i].text == name) return &map.items[i + 1];
  }
  return nullptr;
}

bool FindNumber(const RespReply& map, std::string_view name, int64_t* value) {
  const RespReply* field = FindField(map, name);
  if (field == nullptr) return false;
  if (field->IsText()) return ParseInteger(field->text, value);
  *value = field->integer;
  return field->IsInteger();
}

std::string Describe(const RespReply& reply) {
  switch (reply.kind) {
    case RespReply::Kind::kInteger:
      return std::to_string(reply.integer);
    case RespReply::Kind::kNil:
      return "nil";
    case RespReply::Kind::kArray:
      return "array of " + std::to_string(reply.items.size());
    case RespReply::Kind::kError:
      return reply.text;
    case RespReply::Kind::kSimple:
    case RespReply::Kind::kBulk:
      break;
  }
  return "\"" + reply.text + "\"";
}

void RespReplyParser::Feed(std::string_view bytes) {
  if (position_ == buffer_.size()) {
    buffer_.clear();
    position_ = 0;
  } else if (position_ >= kCompactBytes && position_ * 2 >= buffer_.size()) {
    buffer_.erase(0, position_);
    position_ = 0;
  }
  buffer_.append(bytes);
}

Result<bool> RespReplyParser::Next(RespReply* reply) {
  if (!broken_.empty()) return Fail(StatusCode::kCorruption, broken_);
  while (true) {
    RespReply element;
    switch (ParseElement(&element)) {
      case Step::kNeedMore:
        return false;
      case Step::kBroken:
        return Fail(StatusCode::kCorruption, broken_);
      case Step::kOpenedArray:
        continue;
      case Step::kElement:
        break;
    }
    while (!open_.empty()) {
      OpenArray& array = open_.back();
      assert(array.missing > 0);
      array.reply.items.push_back(std::move(element));
      if (--array.missing > 0) break;
      element = std::move(array.reply);
      open_.pop_back();
      if (open_.empty()) {
        *reply = std::move(element);
        return true;
      }
    }
    if (open_.empty()) {
      *reply = std::move(element);
      return true;
    }
  }
}

RespReplyParser::Step RespReplyParser::ParseElement(RespReply* element) {
  const std::string_view rest = std::string_view(buffer_).substr(position_);
  if (rest.empty()) return Step::kNeedMore;
  const size_t line_end = rest.substr(0, kReplyLineBytesMax).find("\r\n");
  if (line_end == std::string_view::npos) {
    if (rest.size() < kReplyLineBytesMax) return Step::kNeedMore;
    return Broken("a reply line is longer than " + std::to_string(kReplyLineBytesMax) + " bytes");
  }
  const std::string_view line = rest.substr(1, line_end - 1);
  const size_t header_bytes = line_end + 2;

  const char type = rest[0];
  if (type == '+' || type == '-') {
    element->kind = type == '+' ? RespReply::Kind::kSimple : RespReply::Kind::kError;
    element->text = line;
    position_ += header_bytes;
    return Step::kElement;
  }
  if (type != ':' && type != '$' && type != '*') {
    return Broken("a reply begins with byte " + std::to_string(static_cast<uint8_t>(type)));
  }
  int64_t number = 0;
  if (!ParseInteger(line, &number)) return Broken("a reply has a number that is none");
  if (type == ':') {
    element->kind = RespReply::Kind::kInteger;
    element->integer = number;
    position_ += header_bytes;
    return Step::kElement;
  }
  if (number == -1) {
    element->kind = RespReply::Kind::kNil;
    position_ += header_bytes;
    return Step::kElement;
  }
  const size_t limit = type == '$' ? kReplyBulkBytesMax : kReplyItemsMax;
  if (number < 0 || static_cast<uint64_t>(number) > limit) {
    return Broken("a reply announces a length of " + std::to_string(number));
  }
  const size_t length = static_cast<size_t>(number);
  if (type == '*') {
    position_ += header_bytes;
    element->kind = RespReply::Kind::kArray;
    if (length == 0) return Step::kElement;
    if (open_.size() == kReplyDepthMax) return Broken("a reply nests too many arrays");
    open_.push_back({std::move(*element), length});
    return Step::kOpenedArray;
  }
  if (rest.size() < header_bytes + length + 2) return Step::kNeedMore;
  if (rest.substr(header_bytes + length, 2) != "\r\n") {
    return Broken("a bulk string does not end where it says");
  }
  element->kind = RespReply::Kind::kBulk;
  element->text = rest.substr(header_bytes, length);
  position_ += header_bytes + length + 2;
  return Step::kElement;
}

RespReplyParser::Step RespReplyParser::Broken(std::string why) {
  broken_ = std::move(why);
  return Step::kBroken;
}

}  // namespace tallystick
