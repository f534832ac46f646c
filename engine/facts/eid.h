// Eid: an entity's id. Most are canonical decimal numbers, which are kept and compared as such: 8
// bytes in place of a string.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tallystick {

// The number that these bytes are the one canonical decimal spelling of, as 0 or 42 (not 042, not
// 2^64).
std::optional<uint64_t> CanonicalNumber(std::string_view text);

// An id as a caller gives it; views the caller's bytes.
struct Eid {
  explicit Eid(std::string_view text_in) : text(text_in) {
    if (const auto parsed = CanonicalNumber(text)) {
      number = *parsed;
      is_number = true;
    }
  }
  std::string_view text;
  uint64_t number = 0;
  bool is_number = false;
};

// The bytes of a kept id. Views the entity's where they are kept, else has the digits itself: the
// view is valid while both live.
class EidText {
 public:
  explicit EidText(std::string_view kept) : kept_(kept.data()), size_(kept.size()) {}
  explicit EidText(uint64_t number) {
    size_ = static_cast<size_t>(std::to_chars(digits_, digits_ + sizeof(digits_), number).ptr -
                                digits_);
  }
  std::string_view view() const { return {kept_ != nullptr ? kept_ : digits_, size_}; }
  // NOLINTNEXTLINE(google-explicit-constructor): it is what a string_view parameter wants.
  operator std::string_view() const { return view(); }

 private:
  const char* kept_ = nullptr;
  size_t size_ = 0;
  char digits_[20];
};

}  // namespace tallystick
