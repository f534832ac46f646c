#include "engine/facts/set_image.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/facts/fact_set.h"

namespace tallystick {
namespace {

bool DecodeArray(ByteReader* reader, ChunkBits* bits) {
  uint64_t count = 0;
  if (!reader->Varint(&count) || count == 0 || count > reader->remaining()) return false;
  uint64_t next = 0;  // the smallest value that may follow
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t gap = 0;
    if (!reader->Varint(&gap) || gap >= kChunkBits || next + gap >= kChunkBits) return false;
    const uint64_t bit = next + gap;
    (*bits)[bit / 64] |= uint64_t{1} << (bit % 64);
    next = bit + 1;
  }
  return true;
}

bool DecodeRuns(ByteReader* reader, ChunkBits* bits) {
  uint64_t count = 0;
  if (!reader->Varint(&count) || count == 0 || count > reader->remaining()) return false;
  uint64_t next = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t gap = 0;
    uint64_t more = 0;  // length of the run less one
    if (!reader->Varint(&gap) || !reader->Varint(&more)) return false;
    if (gap >= kChunkBits || more >= kChunkBits || next + gap + more >= kChunkBits) return false;
    const uint64_t first = next + gap;
    SetBitRange(bits->data(), static_cast<uint32_t>(first), static_cast<uint32_t>(first + more));
    next = first + more + 2;  // runs that touch would be one run
  }
  return true;
}

bool DecodeDense(ByteReader* reader, ChunkBits* bits) {
  std::string_view raw;
  if (!reader->Raw(sizeof(ChunkBits), &raw)) return false;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(bits->data(), raw.data(), raw.size());
  return std::any_of(bits->begin(), bits->end(), [](uint64_t word) { return word != 0; });
}

}  // namespace

void AppendAscending(std::span<const uint64_t> ascending, std::string* out) {
  AscendingWriter writer(ascending.size(), out);
  for (const uint64_t uid : ascending) writer.Append(uid);
}

bool ReadAscending(ByteReader* reader, std::vector<uint64_t>* ascending) {
  uint64_t count = 0;
  if (!reader->Varint(&count) || count > reader->remaining()) return false;
  ascending->reserve(ascending->size() + count);
  uint64_t next = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (i > 0 && next == 0) return false;  // 2^64-1 was not the last
    uint64_t gap = 0;
    if (!reader->Varint(&gap) || gap > UINT64_MAX - next) return false;
    ascending->push_back(next + gap);
    next = next + gap + 1;
  }
  return true;
}

void EncodeChunkBits(const ChunkBits& bits, std::string* out) {
  std::string array;
  std::string runs;
  uint32_t members = 0;
  uint32_t run_count = 0;
  uint32_t next = 0;
  ForEachRun(bits.data(), [&](uint32_t first, uint32_t last) {
    members += last - first + 1;
    ++run_count;
    PutVarint(&runs, run_count == 1 ? first : first - next - 1);
    PutVarint(&runs, last - first);
    // Each member costs a byte or more: an array that is already too long is not continued.
    if (array.size() <= sizeof(ChunkBits)) {
      PutVarint(&array, first - next);
      array.append(last - first, '\0');
    }
    next = last + 1;
  });
  TALLY_ASSERT(members > 0);
  std::string array_count;
  std::string runs_count;
  PutVarint(&array_count, members);
  PutVarint(&runs_count, run_count);
  const size_t array_size = array_count.size() + array.size();
  const size_t runs_size = runs_count.size() + runs.size();
  if (array_size <= runs_size && array_size < sizeof(ChunkBits)) {
    out->push_back(static_cast<char>(kChunkImageArray));
    out->append(array_count).append(array);
  } else if (runs_size < sizeof(ChunkBits)) {
    out->push_back(static_cast<char>(kChunkImageRuns));
    out->append(runs_count).append(runs);
  } else {
    out->push_back(static_cast<char>(kChunkImageDense));
    char raw[sizeof(ChunkBits)];
    std::memcpy(raw, bits.data(), sizeof(raw));
    out->append(raw, sizeof(raw));
  }
}

bool DecodeChunkBits(std::string_view image, ChunkBits* bits) {
  ByteReader reader(image);
  uint8_t form = 0;
  if (!reader.U8(&form)) return false;
  bits->fill(0);
  bool valid = false;
  if (form == kChunkImageArray) valid = DecodeArray(&reader, bits);
  if (form == kChunkImageRuns) valid = DecodeRuns(&reader, bits);
  if (form == kChunkImageDense) valid = DecodeDense(&reader, bits);
  return valid && reader.remaining() == 0 && reader.ok();
}

void EncodeUids(const std::vector<uint64_t>& ascending, std::string* out) {
  out->push_back(static_cast<char>(kUidsImage));
  AppendAscending(ascending, out);
}

bool DecodeUids(std::string_view bytes, std::vector<uint64_t>* ascending) {
  ascending->clear();
  ByteReader reader(bytes);
  uint8_t form = 0;
  const bool valid = reader.U8(&form) && form == kUidsImage && ReadAscending(&reader, ascending) &&
                     reader.remaining() == 0;
  if (!valid) ascending->clear();
  return valid;
}

}  // namespace tallystick
