#include "server/commands/bit_view.h"

#include <algorithm>

namespace tallystick::server {

namespace {

// A likes face can be 2^61 bytes long, so bit positions need more than 64 bits.
__extension__ using Wide = __int128;

}  // namespace

uint64_t BitOffsetMax(const KeyView& view) {
  switch (view.face) {
    case Face::kChunk:
      return kChunkBits - 1;
    case Face::kLikes:
      return UINT64_MAX;
    default:
      return kPlainBitMax;
  }
}

SetLabels BitLabels(const KeyView& view) {
  switch (view.face) {
    case Face::kChunk:
      return {.any = kLabelChunkFace, .first = 0};
    case Face::kLikes:
      return {.any = kLabelLikesFace, .first = kLabelFirstBits};
    default:
      return {};
  }
}

BitRange ResolveBitRange(int64_t start, int64_t end, bool in_bits, uint64_t bytes) {
  BitRange range;
  range.whole = false;
  const Wide total = static_cast<Wide>(bytes) * (in_bits ? 8 : 1);
  Wide from = start;
  Wide to = end;
  if (from < 0) from += total;
  if (to < 0) to += total;
  from = std::max<Wide>(from, 0);
  to = std::max<Wide>(to, 0);
  to = std::min(to, total - 1);
  if (from > to) {
    range.empty = true;
    return range;
  }
  range.first = static_cast<uint64_t>(in_bits ? from : from * 8);
  range.last = static_cast<uint64_t>(in_bits ? to : to * 8 + 7);
  return range;
}

}  // namespace tallystick::server
