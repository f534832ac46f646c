// The fact keys that a replay touches, each once, numbered from 0 in order of first appearance.
#pragma once

#include <tallystick/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tallystick {

// A fact key as text, `metric:etype:eid`, and its parts. Metric and etype hold no ':', so the text
// names one key only.
class NamedFactKey {
 public:
  NamedFactKey(std::string_view metric, std::string_view etype, std::string_view eid);

  const std::string& text() const { return text_; }
  std::string_view metric() const { return std::string_view(text_).substr(0, metric_bytes_); }
  std::string_view etype() const {
    return std::string_view(text_).substr(metric_bytes_ + 1, etype_bytes_);
  }
  std::string_view eid() const { return entity().substr(etype_bytes_ + 1); }
  std::string_view entity() const { return std::string_view(text_).substr(metric_bytes_ + 1); }
  // `metric:etype`, under which rankings are kept.
  std::string_view group() const {
    return std::string_view(text_).substr(0, metric_bytes_ + 1 + etype_bytes_);
  }
  FactKey fact_key() const { return {metric(), etype(), eid()}; }

 private:
  std::string text_;
  size_t metric_bytes_;
  size_t etype_bytes_;
};

// Not thread-safe. Keys stay where they are: references live as long as the table.
class FactKeys {
 public:
  using Number = uint32_t;

  // The key's number; *is_new says whether this call added it. O(length of the key).
  Number Intern(std::string_view metric, std::string_view etype, std::string_view eid,
                bool* is_new);
  const NamedFactKey& operator[](Number number) const { return keys_[number]; }
  size_t size() const { return keys_.size(); }

 private:
  std::deque<NamedFactKey> keys_;
  std::unordered_map<std::string_view, Number> numbers_;  // views of texts in keys_
};

}  // namespace tallystick
