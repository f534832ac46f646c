#include "tools/cli/fact_keys.h"

#include <cassert>

namespace tallystick {

NamedFactKey::NamedFactKey(std::string_view metric, std::string_view etype, std::string_view eid)
    : metric_bytes_(metric.size()), etype_bytes_(etype.size()) {
  assert(!metric.empty() && !etype.empty() && !eid.empty());
  assert(metric.find(':') == std::string_view::npos && etype.find(':') == std::string_view::npos);
  text_.reserve(metric.size() + etype.size() + eid.size() + 2);
  text_.append(metric).append(1, ':').append(etype).append(1, ':').append(eid);
}

FactKeys::Number FactKeys::Intern(std::string_view metric, std::string_view etype,
                                  std::string_view eid, bool* is_new) {
  const NamedFactKey key(metric, etype, eid);
  const auto found = numbers_.find(key.text());
  *is_new = found == numbers_.end();
  if (!*is_new) return found->second;
  const auto number = static_cast<Number>(keys_.size());
  const NamedFactKey& kept = keys_.emplace_back(key);
  numbers_.emplace(kept.text(), number);
  return number;
}

}  // namespace tallystick
