// The Redis that clients are told they talk to: some of them gate features on it.
#pragma once

#include <string_view>

namespace tallystick::server {

inline constexpr std::string_view kRedisVersion = "7.0.15";

}  // namespace tallystick::server
