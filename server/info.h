// INFO: the server's state as text, in Redis's sections and ours.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/server_state.h"

namespace tallystick::server {

// The named sections ("default", "all" and "everything" too), or all when none is named; unknown
// names give nothing. Costs no I/O beyond two reads under /proc.
std::string InfoText(ServerState* server, std::span<const std::string_view> sections);

}  // namespace tallystick::server
