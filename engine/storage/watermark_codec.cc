#include "engine/storage/watermark_codec.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"

namespace tallystick {
namespace {

constexpr std::string_view kMagic = "TALLYWMK";
constexpr uint32_t kVersion = 1;
constexpr size_t kPage = 4096;
constexpr size_t kPrefixBytes = 8 + 4 + 4;  // magic, version, length of the sealed record

Failure NoSlot(const char* why) {
  return Fail(StatusCode::kCorruption, std::string("watermark slot: ") + why);
}

}  // namespace

std::string EncodeWatermarkSlot(const WatermarkState& state) {
  TALLY_ASSERT(state.durable_offsets.size() <= kWatermarkPartitionsMax);
  std::string record;
  PutU64(&record, state.database_id_high);
  PutU64(&record, state.database_id_low);
  PutU64(&record, state.epoch);
  PutU64(&record, state.serial);
  PutU32(&record, static_cast<uint32_t>(state.durable_offsets.size()));
  for (const uint64_t offset : state.durable_offsets) PutU64(&record, offset);

  std::string slot(kMagic);
  PutU32(&slot, kVersion);
  PutU32(&slot, static_cast<uint32_t>(record.size() + 8));
  SealRecord(slot, &record);  // the prefix is the key, so the checksum covers it too
  slot += record;
  slot.resize((slot.size() + kPage - 1) / kPage * kPage, '\0');
  TALLY_ASSERT(slot.size() <= kWatermarkSlotStride);
  return slot;
}

Result<WatermarkState> DecodeWatermarkSlot(std::string_view bytes) {
  ByteReader prefix(bytes);
  std::string_view magic;
  uint32_t version = 0, length = 0;
  if (!prefix.Raw(kMagic.size(), &magic) || !prefix.U32(&version) || !prefix.U32(&length)) {
    return NoSlot("too short");
  }
  if (magic != kMagic) return NoSlot("no magic");
  std::string_view sealed, record;
  if (!prefix.Raw(length, &sealed)) return NoSlot("cut off");
  if (!OpenRecord(bytes.substr(0, kPrefixBytes), sealed, &record)) return NoSlot("bad checksum");
  if (version != kVersion) {
    return Fail(StatusCode::kUnsupportedFormat,
                "watermark of format version " + std::to_string(version) +
                    "; this build reads version " + std::to_string(kVersion));
  }
  WatermarkState state;
  uint32_t partitions = 0;
  ByteReader reader(record);
  reader.U64(&state.database_id_high);
  reader.U64(&state.database_id_low);
  reader.U64(&state.epoch);
  reader.U64(&state.serial);
  reader.U32(&partitions);
  if (!reader.ok() || partitions > kWatermarkPartitionsMax ||
      reader.remaining() != partitions * sizeof(uint64_t)) {
    return NoSlot("lengths disagree");
  }
  state.durable_offsets.resize(partitions);
  for (uint64_t& offset : state.durable_offsets) reader.U64(&offset);
  TALLY_ASSERT(reader.ok() && reader.remaining() == 0);
  return state;
}

}  // namespace tallystick
