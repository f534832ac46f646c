#include "server/glob.h"

#include <algorithm>

namespace tallystick::server {

namespace {

unsigned char Fold(char c, bool ignore_case) {
  const auto byte = static_cast<unsigned char>(c);
  return ignore_case && byte >= 'A' && byte <= 'Z' ? static_cast<unsigned char>(byte + 32) : byte;
}

// Matches one byte against the class that starts at pattern[*at] == '['; moves *at behind the
// class.
bool MatchClass(std::string_view pattern, size_t* at, char c, bool ignore_case) {
  size_t p = *at + 1;
  const bool negated = p < pattern.size() && pattern[p] == '^';
  if (negated) ++p;
  const unsigned char byte = Fold(c, ignore_case);
  bool matched = false;
  while (p < pattern.size() && pattern[p] != ']') {
    if (pattern[p] == '\\' && p + 1 < pattern.size()) {
      matched |= Fold(pattern[p + 1], ignore_case) == byte;
      p += 2;
    } else if (p + 2 < pattern.size() && pattern[p + 1] == '-') {
      unsigned char low = Fold(pattern[p], ignore_case);
      unsigned char high = Fold(pattern[p + 2], ignore_case);
      if (low > high) std::swap(low, high);
      matched |= low <= byte && byte <= high;
      p += 3;
    } else {
      matched |= Fold(pattern[p], ignore_case) == byte;
      ++p;
    }
  }
  *at = std::min(p + 1, pattern.size());
  return matched != negated;
}

// Matches one byte against the element at pattern[*at], which is not a star; moves *at behind it.
bool MatchOne(std::string_view pattern, size_t* at, char c, bool ignore_case) {
  switch (pattern[*at]) {
    case '?':
      ++*at;
      return true;
    case '[':
      return MatchClass(pattern, at, c, ignore_case);
    case '\\':
      if (*at + 1 < pattern.size()) ++*at;
      break;
    default:
      break;
  }
  return Fold(pattern[(*at)++], ignore_case) == Fold(c, ignore_case);
}

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view text, bool ignore_case) {
  constexpr size_t kNone = std::string_view::npos;
  size_t p = 0;
  size_t t = 0;
  size_t after_star = kNone;  // pattern position behind the last star
  size_t star_text = 0;       // text position where that star's match ends for now
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_text = t;
      if (p == pattern.size()) return true;
      continue;
    }
    size_t next = p;
    if (p < pattern.size() && MatchOne(pattern, &next, text[t], ignore_case)) {
      p = next;
      ++t;
      continue;
    }
    if (after_star == kNone) return false;
    p = after_star;
    t = ++star_text;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string GlobLiteralPrefix(std::string_view pattern) {
  std::string prefix;
  for (size_t p = 0; p < pattern.size(); ++p) {
    const char c = pattern[p];
    if (c == '*' || c == '?' || c == '[') break;
    if (c == '\\' && p + 1 < pattern.size()) ++p;
    prefix.push_back(pattern[p]);
  }
  return prefix;
}

bool GlobIsLiteral(std::string_view pattern) {
  return pattern.find_first_of("*?[\\") == std::string_view::npos;
}

}  // namespace tallystick::server
