// Bytes of one watermark slot. Layout in docs/formats/watermark.md.
#pragma once

#include "engine/storage/watermark.h"

#include <string>
#include <string_view>

namespace tallystick {

// Distance between the two slots, and the largest size of one: room for 4096 partitions and more.
inline constexpr size_t kWatermarkSlotStride = 64 * 1024;
inline constexpr size_t kWatermarkSlots = 2;
inline constexpr size_t kWatermarkPartitionsMax = 4096;

// Padded with zeros to a multiple of 4 KiB, so that a small write never reads a page first.
std::string EncodeWatermarkSlot(const WatermarkState& state);
// `bytes` may be longer than the slot. kCorruption: no valid slot here (never written, or torn).
// kUnsupportedFormat: intact, but of a version that this build does not read.
Result<WatermarkState> DecodeWatermarkSlot(std::string_view bytes);

}  // namespace tallystick
