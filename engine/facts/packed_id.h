// Ids of users as bytes: what the id dictionary keeps. An id is any byte string of 1 to 512 bytes.
// Packed, the canonical decimal of an unsigned 64-bit number takes its bytes and one more, a UUID
// in its canonical form (36 characters, lower case) 17, anything else its length and one, or three
// from 127 on. Each id has one packed form. Layout in docs/formats/ids.md.
//
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tallystick {

inline constexpr size_t kIdBytesMax = 512;
inline constexpr size_t kPackedIdBytesMax = kIdBytesMax + 3;
// Never the first byte of a packed id.
inline constexpr char kNoPackedId = '\xff';

// Appends; 1 to kIdBytesMax bytes (asserted).
void PackId(std::string_view id, std::string* packed);
// Of bytes that begin with a packed id (asserted): its length.
size_t PackedIdBytes(const char* packed);
// Appends the id. False for what PackId never writes.
bool UnpackId(std::string_view packed, std::string* id);

}  // namespace tallystick
