// Any bytes as a portable roaring image: refused, or a valid set whose own image reads the same.
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/assert.h"
#include "engine/facts/portable_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tallystick;  // NOLINT: a fuzz target is one function
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FactSet set;
  const bool valid = ReadPortable(bytes, &set).ok();
  TALLY_ASSERT(set.IsValid() && (valid || set.empty()));
  if (!valid) return 0;
  // A byte of runs may stand for thousands of members: large sets are compared by their number.
  constexpr uint64_t kMembersMax = 100'000;
  std::vector<uint64_t> chunks;
  set.ChunksWithMembers(&chunks);
  if (chunks.size() > 1000) return 0;
  std::string image;
  PortableWriter writer(&image);
  for (const uint64_t chunk : chunks) {
    ChunkBits bits;
    set.ReadChunk(chunk, &bits);
    writer.AppendChunk(chunk, bits);
  }
  writer.Finish();
  FactSet again;
  TALLY_ASSERT(ReadPortable(image, &again).ok() && again.cardinality() == set.cardinality());
  if (set.cardinality() > kMembersMax) return 0;
  std::vector<uint64_t> uids, uids_again;
  TALLY_ASSERT(!set.Collect(0, SIZE_MAX, &uids) && !again.Collect(0, SIZE_MAX, &uids_again));
  TALLY_ASSERT(uids == uids_again);
  return 0;
}
