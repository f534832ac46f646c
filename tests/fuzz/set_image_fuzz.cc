// Any bytes as the images of a fact set: refused, or a valid set that behaves. The first byte says
// which: a header, a chunk, a uid list, or operations on a set (uids from the bytes) that must
// survive a snapshot and a reload.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/assert.h"
#include "engine/facts/fact_set.h"
#include "engine/facts/set_image.h"

namespace tallystick {
namespace {

std::vector<uint64_t> MembersOf(const FactSet& set) {
  std::vector<uint64_t> uids;
  TALLY_ASSERT(!set.Collect(0, SIZE_MAX, &uids));
  return uids;
}

void Header(std::string_view bytes) {
  FactSet set;
  const bool valid = FactSet::DecodeHeader(bytes, &set);
  TALLY_ASSERT(set.IsValid() && (valid || set.empty()));
  if (!valid) return;
  std::string again;
  set.EncodeHeader(&again);
  TALLY_ASSERT(again == bytes);
  std::vector<uint64_t> chunks;
  set.ChunksWithMembers(&chunks);
  uint64_t members = 0;
  for (const uint64_t chunk : chunks) {
    members += set.CardinalityIn({FirstUidOf(chunk), LastUidOf(chunk)});
  }
  TALLY_ASSERT(members == set.cardinality() && members == set.CardinalityIn({}));
  for (const uint64_t chunk : chunks) {
    if (!set.IsAbsent(chunk)) set.Add(LastUidOf(chunk));
    if (!set.IsAbsent(chunk)) set.Remove(FirstUidOf(chunk));
  }
  TALLY_ASSERT(set.IsValid());
}

void Chunk(std::string_view bytes) {
  ChunkBits bits;
  if (!DecodeChunkBits(bytes, &bits)) return;
  const uint32_t count = CountBits(bits.data(), 0, kChunkBits - 1);
  TALLY_ASSERT(count > 0);
  std::string header("\x02\x00\x01\x05", 4);
  PutVarint(&header, count - 1);
  FactSet set;
  TALLY_ASSERT(FactSet::DecodeHeader(header, &set));
  TALLY_ASSERT(set.InstallChunk(5, bytes) && set.IsValid() && set.cardinality() == count);
  std::string again;
  set.EncodeChunk(5, &again);
  TALLY_ASSERT(again.size() <= 4097);
  ChunkBits same;
  TALLY_ASSERT(DecodeChunkBits(again, &same) && same == bits);
}

void Uids(std::string_view bytes) {
  std::vector<uint64_t> uids;
  if (!DecodeUids(bytes, &uids)) return;
  std::string again;
  EncodeUids(uids, &again);
  TALLY_ASSERT(again == bytes);
}

// Three bytes are a step: a stretch of uids to add or to remove.
void Operations(std::string_view bytes) {
  FactSet set;
  std::vector<uint64_t> model;
  for (size_t i = 0; i + 3 <= std::min<size_t>(bytes.size(), 48); i += 3) {
    const auto what = static_cast<uint8_t>(bytes[i]);
    const auto place = static_cast<uint8_t>(bytes[i + 1]);
    const auto length = static_cast<uint8_t>(bytes[i + 2]);
    const uint64_t stride = uint64_t{1} << (what % 21);
    const uint64_t first = uint64_t{place} << (what % 57);
    for (uint64_t uid = first, n = 0; n < length; ++n, uid += stride) {
      const auto at = std::lower_bound(model.begin(), model.end(), uid);
      const bool there = at != model.end() && *at == uid;
      TALLY_ASSERT(set.Contains(uid) == there);
      if (what < 160) {
        TALLY_ASSERT(set.Add(uid) == !there);
        if (!there) model.insert(at, uid);
      } else {
        TALLY_ASSERT(set.Remove(uid) == there);
        if (there) model.erase(at);
      }
    }
  }
  TALLY_ASSERT(set.IsValid() && MembersOf(set) == model);
  std::vector<uint64_t> changed;
  std::vector<uint64_t> stale;
  set.TakePending(&changed, &stale);
  TALLY_ASSERT(stale.empty());
  std::string header;
  set.EncodeHeader(&header);
  FactSet loaded;
  TALLY_ASSERT(FactSet::DecodeHeader(header, &loaded));
  for (const uint64_t chunk : changed) {
    std::string image;
    set.EncodeChunk(chunk, &image);
    TALLY_ASSERT(loaded.InstallChunk(chunk, image));
  }
  TALLY_ASSERT(loaded.IsValid() && MembersOf(loaded) == model);
}

}  // namespace
}  // namespace tallystick

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      tallystick::Header(bytes);
      break;
    case 1:
      tallystick::Chunk(bytes);
      break;
    case 2:
      tallystick::Uids(bytes);
      break;
    default:
      tallystick::Operations(bytes);
      break;
  }
  return 0;
}
