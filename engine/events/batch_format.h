// What the writer and the reader of journal batches share: the bits of an event's first byte and
// the rules by which values choose their form. The layout itself is in docs/formats/journal.md.
#pragma once

#include "engine/base/coding.h"
#include "engine/base/record.h"
#include "engine/events/batch_codec.h"

#include <tallystick/types.h>

#include <bit>
#include <cstdint>
#include <string_view>

namespace tallystick::batch_format {

inline constexpr RecordKind kKind = {"journal batch", kJournalBatchVersion};

// ---- First byte of an event: ttsmmlll
// --------------------------------------------------------------- tt: number of its template, 3:
// the rest of the number follows as varint.
inline constexpr uint32_t kTemplateShift = 6;
inline constexpr uint32_t kTemplateFollows = 3;
// s: for a flip, delta is -1 and not +1; for other kinds, delta is +1.
inline constexpr uint8_t kSignBit = 0x20;
// mm: which entity.
inline constexpr uint32_t kEntityShift = 3;
enum class EntityForm : uint8_t {
  kSame = 0,   // that of the event before it in this section; also where a kind has no entity
  kNew = 1,    // its definition follows
  kIndex = 2,  // one byte: number of the entity in this section
  kFar = 3,    // varint: number - 256
};
inline constexpr uint32_t kNearEntities = 256;
// lll: for a flip, the form of its uid; for other kinds, what follows.
inline constexpr uint8_t kLowMask = 7;
inline constexpr uint8_t kUidFollows = 1;      // varint, not 0
inline constexpr uint8_t kPayloadFollows = 2;  // length and bytes, not empty
inline constexpr uint8_t kDeltaFollows = 4;    // zigzag varint, neither 0 nor +1

// ---- First byte of an entity's definition: ttttllll
// ---------------------------------------------------- tttt: number of the entity type's name, 15:
// the rest of the number follows as varint.
inline constexpr uint32_t kTypeShift = 4;
inline constexpr uint32_t kTypeFollows = 15;
// llll: bytes of a numeric eid (1 to 8), 0: length and bytes follow.
inline constexpr uint32_t kNumericBytesMax = 8;
inline constexpr size_t kDecimalDigitsMax = 20;

inline constexpr uint32_t kShardNumberMax = 0xffff;      // as the keys of the store
inline constexpr uint32_t kPartitionNumberMax = 0xffff;  // likewise

inline bool HasEntity(EventKind kind) {
  return kind != EventKind::kWipe;
}

// ---- Uids
// ----------------------------------------------------------------------------------------------
// The uid itself, or its zigzag distance from the previous uid of the same entity (0 at first), in
// as few bytes as there is a form for. The first form that fits is the one that is used.
struct UidForm {
  uint8_t bytes;
  bool delta;
};
inline constexpr UidForm kUidForms[8] = {{1, true},  {2, false}, {2, true},  {3, false},
                                         {4, false}, {5, false}, {7, false}, {8, false}};
// Bytes of a uid that is stored as itself -> its form.
inline constexpr uint8_t kPlainUidForm[9] = {1, 1, 1, 3, 4, 5, 6, 6, 7};

inline uint32_t BytesOf(uint64_t value) {
  return static_cast<uint32_t>(64 - std::countl_zero(value | 1) + 7) / 8;
}

inline uint8_t ChooseUidForm(uint64_t uid, uint64_t distance) {
  if (distance < 0x100) return 0;
  const uint8_t plain = kPlainUidForm[BytesOf(uid)];
  return plain > 2 && distance < 0x10000 ? 2 : plain;
}

inline uint64_t UidDistance(uint64_t uid, uint64_t previous) {
  return ZigZag(static_cast<int64_t>(uid - previous));
}
inline uint64_t UidAtDistance(uint64_t previous, uint64_t distance) {
  return previous + static_cast<uint64_t>(UnZigZag(distance));
}

// ---- Raw big-endian integers of 1 to 8 bytes
// ----------------------------------------------------------- Writes 8 bytes, of which the first
// `bytes` count.
inline void StoreUint(char* out, uint64_t value, uint32_t bytes) {
  const uint64_t swapped = ByteSwap(value << (64 - 8 * bytes));
  std::memcpy(out, &swapped, 8);
}
// Reads 8 bytes, of which the first `bytes` count.
inline uint64_t LoadUint(const char* in, uint32_t bytes) {
  return LoadBigEndian<uint64_t>(in) >> (64 - 8 * bytes);
}

// ---- Numeric eids: "0" to "18446744073709551615", no leading zeros
// -----------------------------------
inline bool ValidEid(std::string_view etype, std::string_view eid) {
  return etype.empty() ? eid.size() <= kPlainKeyBytesMax
                       : !eid.empty() && eid.size() <= kEidBytesMax;
}
bool ParseDecimal(std::string_view text, uint64_t* value);

}  // namespace tallystick::batch_format
