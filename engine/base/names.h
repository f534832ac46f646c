// Names: entity types, metrics and slots are [A-Za-z0-9_-]{1,64}.
#pragma once

#include <tallystick/types.h>

#include <string_view>

namespace tallystick {

// O(length), no allocation. Never true of "" (the plain keyspace) or "*" (every other type).
inline bool IsName(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > kNameBytesMax) return false;
  for (const char c : bytes) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '_' && c != '-') return false;
  }
  return true;
}

}  // namespace tallystick
