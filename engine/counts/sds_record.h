// The count record: what the counts column family holds for one entity, and the SDS image that
// clients see. Layout per byte in docs/formats/count-record.md.
//
// Pure and thread-safe.
#pragma once

#include <tallystick/counts.h>
#include <tallystick/result.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

inline constexpr uint8_t kCountRecordVersion = 1;

// Values are exact. `values` include the counter parts; both are true up to `sequence`.
struct CountRecord {
  uint64_t sequence = 0;
  uint32_t slots = 0;
  std::array<int64_t, kSlotsMax> values{};
  std::array<int64_t, kSlotsMax> counter_parts{};
};

// O(slots); one allocation at most (a record of five small counts has about 23 bytes).
std::string EncodeCountRecord(std::string_view key, const CountRecord& record);
// Takes any bytes. kCorruption when damaged or when the number of slots is not `slots`;
// kUnsupportedFormat by name. Entries beyond `slots` are zero.
Result<CountRecord> DecodeCountRecord(std::string_view key, std::string_view value, uint32_t slots);

// Big-endian, clamped per slot to [0, 2^32-1] or, 8 bytes wide, to [0, 2^63-1]. *clamped is set to
// the number of slots that did not fit.
std::string EncodeSdsImage(const std::vector<SlotSpec>& slots,
                           const std::array<int64_t, kSlotsMax>& values, uint32_t* clamped);

}  // namespace tallystick
