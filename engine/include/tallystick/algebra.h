// The words of calls on many facts at once: bit fields, bit operations, set algebra.
#pragma once

#include <tallystick/types.h>

#include <cstdint>
#include <string_view>

namespace tallystick {

// One integer of 1 to 64 bits (unsigned: to 63) within the bits of a set, most significant bit
// first, as Redis's BITFIELD has them.
struct BitFieldOp {
  enum class Kind : uint8_t { kGet, kSet, kIncrBy };
  // What becomes of a value that does not fit: its low bits, the nearest that fits, or no change.
  enum class Overflow : uint8_t { kWrap, kSaturate, kFail };
  Kind kind = Kind::kGet;
  Overflow overflow = Overflow::kWrap;
  bool is_signed = false;
  uint8_t bits = 1;
  uint64_t first = 0;  // uid of the first bit; first + bits - 1 must not pass 2^64-1
  int64_t value = 0;   // to set or to add
};

enum class BitOp : uint8_t { kAnd, kOr, kXor, kNot };

// A string of bits that a bit operation reads: `bytes` bytes of a set from uid `first` on (a
// multiple of 8), or, with an empty key.metric, the bytes themselves.
struct BitSource {
  FactKey key;
  uint64_t first = 0;
  uint64_t bytes = 0;
  std::string_view literal;
};

enum class SetOp : uint8_t { kInter, kUnion, kDiff };

// What a change of many facts did.
struct BulkOutcome {
  uint64_t added = 0;
  uint64_t removed = 0;
};

}  // namespace tallystick
