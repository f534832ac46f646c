// Any bytes as a chunk list and as the payload of a bulk change: refused, or members in valid forms
// that are written again as the same members.
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/assert.h"
#include "engine/facts/chunk_list.h"

namespace tallystick {
namespace {

void List(std::string_view bytes) {
  FactSet set;
  const bool valid = SetFromChunkList(bytes, &set);
  TALLY_ASSERT(set.IsValid() && (valid || set.empty()));
  uint64_t members = 0;
  std::optional<uint64_t> before;
  std::string by_chunks, by_uids;
  ChunkListWriter chunk_writer(&by_chunks), uid_writer(&by_uids);
  const bool read = ReadChunkList(bytes, [&](uint64_t chunk, const ChunkBits& bits) {
    TALLY_ASSERT(!before || *before < chunk);
    before = chunk;
    const uint32_t count = CountBits(bits.data(), 0, kChunkBits - 1);
    TALLY_ASSERT(count > 0);
    members += count;
    chunk_writer.AppendChunk(chunk, bits);
    ForEachBit(bits.data(), 0, kChunkBits - 1,
               [&](uint32_t bit) { uid_writer.Append(FirstUidOf(chunk) + bit); });
    return true;
  });
  TALLY_ASSERT(read == valid);
  if (!valid) return;
  TALLY_ASSERT(members == set.cardinality());
  chunk_writer.Finish();
  uid_writer.Finish();
  TALLY_ASSERT(by_chunks == by_uids && by_chunks.size() <= bytes.size());
  FactSet again;
  TALLY_ASSERT(SetFromChunkList(by_chunks, &again) && again.cardinality() == members);
}

}  // namespace
}  // namespace tallystick

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tallystick::List(bytes);
  std::string_view added, removed;
  if (tallystick::SplitChange(bytes, &added, &removed)) {
    tallystick::List(added);
    tallystick::List(removed);
  }
  return 0;
}
