#include "engine/counts/sds_record.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/record.h"

namespace tallystick {
namespace {

constexpr RecordKind kKind = {"count record", kCountRecordVersion};

}  // namespace

std::string EncodeCountRecord(std::string_view key, const CountRecord& record) {
  TALLY_ASSERT(record.slots <= kSlotsMax);
  std::string out;
  out.push_back(static_cast<char>(kCountRecordVersion));
  PutVarint(&out, record.sequence);
  out.push_back(static_cast<char>(record.slots));
  for (uint32_t i = 0; i < record.slots; ++i) {
    PutVarint(&out, ZigZag(record.values[i]));
    PutVarint(&out, ZigZag(record.counter_parts[i]));
  }
  SealRecord(key, &out);
  return out;
}

Result<CountRecord> DecodeCountRecord(std::string_view key, std::string_view value,
                                      uint32_t slots) {
  TALLY_ASSERT(slots <= kSlotsMax);
  std::string_view body;
  if (Status s = OpenVersionedRecord(kKind, key, value, &body); !s.ok()) return Fail(std::move(s));
  ByteReader reader(body);
  CountRecord record;
  uint8_t found = 0;
  if (!reader.Varint(&record.sequence) || !reader.U8(&found)) {
    return Fail(DamagedRecord(kKind, "too short"));
  }
  if (found != slots) {
    return Fail(DamagedRecord(kKind, "it has " + std::to_string(found) +
                                         " slots, the schema says " + std::to_string(slots)));
  }
  record.slots = slots;
  for (uint32_t i = 0; i < slots; ++i) {
    if (!reader.SignedVarint(&record.values[i]) || !reader.SignedVarint(&record.counter_parts[i])) {
      return Fail(DamagedRecord(kKind, "too short for its slots"));
    }
  }
  if (reader.remaining() != 0) return Fail(DamagedRecord(kKind, "trailing bytes"));
  return record;
}

std::string EncodeSdsImage(const std::vector<SlotSpec>& slots,
                           const std::array<int64_t, kSlotsMax>& values, uint32_t* clamped) {
  TALLY_ASSERT(slots.size() <= kSlotsMax);
  std::string image;
  image.reserve(8 * slots.size());
  *clamped = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const uint8_t width = slots[i].width_bytes;
    TALLY_ASSERT(width == 4 || width == 8);
    const int64_t highest = width == 4 ? int64_t{UINT32_MAX} : INT64_MAX;
    int64_t value = values[i];
    if (value < 0 || value > highest) {
      value = value < 0 ? 0 : highest;
      ++*clamped;
    }
    if (width == 4) {
      PutU32(&image, static_cast<uint32_t>(value));
    } else {
      PutU64(&image, static_cast<uint64_t>(value));
    }
  }
  return image;
}

}  // namespace tallystick
