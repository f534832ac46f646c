// XXH3-64 over bytes: the checksum of every persisted record, and (seeded) the placement hash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tallystick {

uint64_t Hash64(std::string_view bytes, uint64_t seed);

// A record is body + 8 bytes big-endian XXH3-64 over (key, body): a value that was stored under
// another key fails its check.
void SealRecord(std::string_view key, std::string* body);
// Returns the body without its checksum; false when it is too short or does not match.
bool OpenRecord(std::string_view key, std::string_view sealed, std::string_view* body);

}  // namespace tallystick
