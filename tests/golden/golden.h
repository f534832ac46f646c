// Golden records: every persisted record as a version of this program once wrote it. Files are
// added, never edited: what one release wrote, all later ones must read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tallystick::golden {

// The bytes of tests/golden/records/NAME.bin. With TALLYSTICK_WRITE_GOLDEN=1 in the environment a
// missing file is first written from `written_now`. Fails the test when there is none.
std::string Read(const std::string& name, std::string_view written_now);

// The bytes of the block that begins with ```hex NAME in docs/formats/DOCUMENT: two hex digits per
// byte, blanks anywhere, what follows a # on a line is a comment. Fails the test when there is
// none.
std::string Example(const std::string& document, const std::string& name);

}  // namespace tallystick::golden
