#include "engine/facts/chunk_list.h"

#include "engine/base/assert.h"
#include "engine/facts/popcount.h"
#include "engine/facts/set_image.h"

namespace tallystick {

ChunkListWriter::ChunkListWriter(std::string* out) : out_(out) {
  out_->push_back(static_cast<char>(kChunkListImage));
}

void ChunkListWriter::WriteChunk(uint64_t chunk, std::string_view image) {
  TALLY_ASSERT(chunk >= next_chunk_);
  PutVarint(out_, chunk - next_chunk_);
  PutVarint(out_, image.size());
  out_->append(image);
  next_chunk_ = chunk + 1;
}

void ChunkListWriter::Append(uint64_t uid) {
  if (!values_.empty() && chunk_ != ChunkOf(uid)) Finish();
  TALLY_ASSERT(values_.empty() || values_.back() < BitOf(uid));
  chunk_ = ChunkOf(uid);
  values_.push_back(static_cast<uint16_t>(BitOf(uid)));
}

void ChunkListWriter::AppendChunk(uint64_t chunk, const ChunkBits& bits) {
  Finish();
  if (NextSetBit(bits.data(), 0) == kChunkBits) return;
  image_.clear();
  EncodeChunkBits(bits, &image_);
  WriteChunk(chunk, image_);
}

void ChunkListWriter::Finish() {
  if (values_.empty()) return;
  image_.clear();
  EncodeChunkValues(values_, &image_);
  WriteChunk(chunk_, image_);
  values_.clear();
}

bool ReadChunkList(std::string_view bytes,
                   const std::function<bool(uint64_t chunk, const ChunkBits& bits)>& visit) {
  ByteReader reader(bytes);
  uint8_t form = 0;
  if (!reader.U8(&form) || form != kChunkListImage) return false;
  uint64_t next = 0;
  ChunkBits bits;
  while (reader.remaining() > 0) {
    uint64_t gap = 0;
    std::string_view image;
    if (!reader.Varint(&gap) || gap > kChunkNumberMax || next + gap > kChunkNumberMax ||
        !reader.Bytes(&image) || !DecodeChunkBits(image, &bits)) {
      return false;
    }
    if (!visit(next + gap, bits)) return false;
    next += gap + 1;
  }
  return reader.ok();
}

bool SetFromChunkList(std::string_view bytes, FactSet* set) {
  *set = FactSet();
  FactSet read;
  const bool valid = ReadChunkList(bytes, [&read](uint64_t chunk, const ChunkBits& bits) {
    read.AppendChunk(chunk, bits, static_cast<uint32_t>(Popcount(bits.data(), kChunkWords)));
    return true;
  });
  if (valid) *set = std::move(read);
  return valid;
}

void EncodeChange(std::span<const uint64_t> added, std::span<const uint64_t> removed,
                  std::string* out) {
  std::string list;
  ChunkListWriter writer(&list);
  for (const uint64_t uid : added) writer.Append(uid);
  writer.Finish();
  PutVarint(out, list.size());
  out->append(list);
  ChunkListWriter rest(out);
  for (const uint64_t uid : removed) rest.Append(uid);
  rest.Finish();
}

bool SplitChange(std::string_view bytes, std::string_view* added, std::string_view* removed) {
  ByteReader reader(bytes);
  if (!reader.Bytes(added)) return false;
  *removed = reader.rest();
  return true;
}

}  // namespace tallystick
