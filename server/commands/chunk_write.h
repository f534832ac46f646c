// Writing the bytes of a chunk as a whole: SET on a bm: key.
#pragma once

#include <string_view>

#include "server/commands/command.h"
#include "server/key_templates.h"

namespace tallystick::server {

// Makes the bits of the chunk those of `value` (Redis's bit order), given that they were `old`: one
// change per bit that differs. kInvalidArgument when value has a set bit beyond the chunk; nothing
// changed then.
Status WriteChunk(CommandContext& c, const KeyView& chunk, std::string_view old,
                  std::string_view value);

}  // namespace tallystick::server
