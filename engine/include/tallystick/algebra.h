// The words of calls on many facts at once: bit fields, bit operations, set algebra.
#pragma once

#include <tallystick/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

// What becomes of the members of a set that an imported image does not have.
enum class ImportMode : uint8_t { kAdd, kReplace };  // they stay; they are removed

inline constexpr size_t kImageBytesMin = 64u << 10;   // of a part of an export
inline constexpr size_t kImageBytesMax = 512u << 20;  // of an import and of an export

// A part of a set in the portable 64-bit roaring format, a whole image in itself.
struct Exported {
  std::string image;
  uint64_t members = 0;          // in this part
  std::optional<uint64_t> next;  // where the next part begins; nullopt: this was the last
};

// What a change of many facts did.
struct BulkOutcome {
  uint64_t added = 0;
  uint64_t removed = 0;
};

}  // namespace tallystick
