// What the commands on bits share: offsets, labels and ranges of a bitmap view.
#pragma once

#include <cstdint>

#include "server/key_templates.h"

namespace tallystick::server {

// Sources of a bit operation beyond this many bytes are read on a worker thread.
inline constexpr uint64_t kInlineBitOpBytes = 64u << 10;

// The largest offset that a view takes: Redis's for plain keys, the chunk's last bit for a chunk; a
// likes face takes any uid.
uint64_t BitOffsetMax(const KeyView& view);

SetLabels BitLabels(const KeyView& view);

struct BitRange {
  bool whole = true;
  bool empty = false;
  uint64_t first = 0;  // in bits
  uint64_t last = 0;   // included
};

// Redis's range arithmetic over a string of `bytes`: negative positions count from the end.
BitRange ResolveBitRange(int64_t start, int64_t end, bool in_bits, uint64_t bytes);

}  // namespace tallystick::server
