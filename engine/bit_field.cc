#include "engine/bit_field.h"

#include "engine/base/assert.h"

namespace tallystick {
namespace {

__extension__ using Wide = __int128;

}  // namespace

std::optional<int64_t> RunBitFieldOp(const BitFieldOp& op,
                                     const std::function<bool(uint64_t bit)>& get,
                                     const std::function<void(uint64_t bit, bool on)>& put) {
  TALLY_ASSERT(op.bits >= 1 && op.bits <= (op.is_signed ? 64 : 63));
  const Wide span = Wide{1} << op.bits;
  const Wide min = op.is_signed ? -(span / 2) : 0;
  const Wide max = min + span - 1;
  Wide old = 0;
  for (uint8_t i = 0; i < op.bits; ++i) old = old * 2 + (get(op.first + i) ? 1 : 0);
  if (old > max) old -= span;
  if (op.kind == BitFieldOp::Kind::kGet) return static_cast<int64_t>(old);

  Wide value = op.value;
  if (op.kind == BitFieldOp::Kind::kIncrBy) {
    value += old;
  } else if (!op.is_signed) {
    value = static_cast<uint64_t>(op.value);  // as Redis: -1 is a very large number
  }
  if (value < min || value > max) {
    if (op.overflow == BitFieldOp::Overflow::kFail) return std::nullopt;
    if (op.overflow == BitFieldOp::Overflow::kSaturate) {
      value = value < min ? min : max;
    } else {
      value = ((value - min) % span + span) % span + min;
    }
  }
  TALLY_ASSERT(value >= min && value <= max);
  const auto raw = static_cast<uint64_t>(value);
  for (uint8_t i = 0; i < op.bits; ++i) {
    put(op.first + i, ((raw >> (op.bits - 1 - i)) & 1) != 0);
  }
  return static_cast<int64_t>(op.kind == BitFieldOp::Kind::kSet ? old : value);
}

}  // namespace tallystick
