// Splits an inline request (what a person types into telnet) into words by Redis's sdssplitargs
// rules.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tallystick::server {

// Splits [line, line + size) in place: "..." understands \n \r \t \b \a \xHH and \<any>, '...' only
// \'; a closing quote must be followed by a blank or the end. Words become views into the line,
// whose bytes are overwritten by their unescaped form (never longer). False: quotes do not balance.
bool SplitInlineWords(char* line, size_t size, std::vector<std::string_view>* words);

}  // namespace tallystick::server
