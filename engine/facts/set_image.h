// The bytes of fact sets at rest: ascending uids as delta varints, the members of one chunk as an
// array, runs or bits. Layout per byte in docs/formats/set-image.md.
//
// Pure functions. Every reader treats its bytes as hostile: it checks order, range and counts, and
// allocates no more than 8 bytes per input byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/coding.h"
#include "engine/facts/chunk_bits.h"

namespace tallystick {

// First byte of each image; other values are refused.
inline constexpr uint8_t kHeaderImageMembers = 1;  // members only
inline constexpr uint8_t kHeaderImageChunks = 2;   // members, then a directory of chunks
inline constexpr uint8_t kChunkImageArray = 1;
inline constexpr uint8_t kChunkImageRuns = 2;
inline constexpr uint8_t kChunkImageDense = 3;
inline constexpr uint8_t kUidsImage = 1;

// Writes ascending numbers as varints: how many, the first, then each gap less one.
class AscendingWriter {
 public:
  AscendingWriter(uint64_t count, std::string* out) : out_(out) { PutVarint(out_, count); }
  void Append(uint64_t uid) {
    PutVarint(out_, uid - next_);
    next_ = uid + 1;
  }

 private:
  std::string* out_;
  uint64_t next_ = 0;
};
void AppendAscending(std::span<const uint64_t> ascending, std::string* out);
// False when the bytes are short, overlong, not strictly ascending, or beyond 2^64-1. Appends to
// *ascending; what was appended before a failure is left there.
bool ReadAscending(ByteReader* reader, std::vector<uint64_t>* ascending);

// Both write the smallest of the three forms (of equals the first), at most 1 + 4,096 bytes. There
// must be a member. O(4 KiB + members), O(members).
void EncodeChunkBits(const ChunkBits& bits, std::string* out);
void EncodeChunkValues(std::span<const uint16_t> ascending, std::string* out);
// False when the image is not valid as a whole (trailing bytes and an empty chunk included); *bits
// is then undefined.
bool DecodeChunkBits(std::string_view image, ChunkBits* bits);

}  // namespace tallystick
