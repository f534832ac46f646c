#include "server/resp/inline_words.h"

namespace tallystick::server {

namespace {

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
}

// Ends an unquoted word; unlike IsBlank this is the list of sdssplitargs, NUL included.
bool EndsWord(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\0';
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char Unescape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

}  // namespace

bool SplitInlineWords(char* line, size_t size, std::vector<std::string_view>* words) {
  enum class Mode { kBare, kDouble, kSingle };
  size_t in = 0;
  while (true) {
    while (in < size && IsBlank(line[in])) ++in;
    if (in == size || line[in] == '\0') return true;
    char* const begin = line + in;
    char* out = begin;
    Mode mode = Mode::kBare;
    for (bool done = false; !done;) {
      if (in == size) {
        if (mode != Mode::kBare) return false;
        break;
      }
      const char c = line[in];
      if (mode == Mode::kBare) {
        if (EndsWord(c)) {
          done = true;
        } else if (c == '"') {
          mode = Mode::kDouble;
        } else if (c == '\'') {
          mode = Mode::kSingle;
        } else {
          *out++ = c;
        }
        if (!done) ++in;
        continue;
      }
      const char quote = mode == Mode::kDouble ? '"' : '\'';
      if (c == quote) {
        if (in + 1 < size && !IsBlank(line[in + 1])) return false;
        ++in;
        done = true;
      } else if (mode == Mode::kDouble && c == '\\' && in + 3 < size && line[in + 1] == 'x' &&
                 HexDigit(line[in + 2]) >= 0 && HexDigit(line[in + 3]) >= 0) {
        *out++ = static_cast<char>(HexDigit(line[in + 2]) * 16 + HexDigit(line[in + 3]));
        in += 4;
      } else if (mode == Mode::kDouble && c == '\\' && in + 1 < size) {
        *out++ = Unescape(line[in + 1]);
        in += 2;
      } else if (mode == Mode::kSingle && c == '\\' && in + 1 < size && line[in + 1] == '\'') {
        *out++ = '\'';
        in += 2;
      } else {
        *out++ = c;
        ++in;
      }
    }
    words->emplace_back(begin, static_cast<size_t>(out - begin));
  }
}

}  // namespace tallystick::server
