// The portable roaring format for 64-bit numbers: how members leave for other roaring libraries and
// come from them. Never used at rest.
//
// Source: the RoaringFormatSpec with its extension for 64-bit implementations, as CRoaring
// (Roaring64Map, portable), Java (Roaring64NavigableMap in portable mode) and Go (roaring64) read
// and write it. All integers are little-endian:
//
//   u64 number of bitmaps; then for each, ascending: u32 high half of its members, then a 32-bit
//   bitmap: u32 cookie (12346, then u32 containers; or 12347 | (containers - 1) << 16, then one
//   bit per container that says "runs"), per container u16 key and u16 members - 1, offsets
//   (u32 each, from the cookie on; left out with runs and fewer than 4 containers), containers:
//   runs (u16 number, then u16 start and u16 length - 1 each), up to 4096 sorted u16, or 8 KiB bits
//
// A container has the 65,536 uids of two of our chunks. Pure functions; the reader treats its bytes
// as hostile.
#pragma once

#include <tallystick/status.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/facts/chunk_bits.h"
#include "engine/facts/fact_set.h"

namespace tallystick {

// Chunks that may come out of containers of runs: a few bytes of those stand for 65,536 members,
// and must not ask for more than about 120 MB.
inline constexpr uint64_t kPortableRunChunksMax = uint64_t{1} << 19;

// Members in ascending order become an image, every container in the smallest form.
class PortableWriter {
 public:
  static constexpr uint32_t kContainerBits = 65536;
  static constexpr size_t kContainerBytesMax = 8192;
  // What a container and a bitmap add to the image beside the members, at most.
  static constexpr size_t kHeadBytesMax = 24;

  // Appends to *out, which belongs to it until Finish.
  explicit PortableWriter(std::string* out);
  // Above all that was given before. Amortized O(1).
  void Append(uint64_t uid);
  // A chunk of which nothing was given before; above all that was. May have no member.
  void AppendChunk(uint64_t chunk, const ChunkBits& bits);
  // Writes what is left; nothing may follow.
  void Finish();

  // At least what the image has now, at most kHeadBytesMax a container more. O(1).
  size_t bytes() const {
    return out_->size() + body_.size() + (heads_.size() + (open_ ? 1 : 0)) * kHeadBytesMax +
           (dense_ ? kContainerBytesMax : values_.size() * sizeof(uint16_t));
  }

 private:
  static constexpr size_t kContainerWords = kContainerBits / 64;
  struct Head {
    uint16_t key;
    uint16_t less_one;  // members - 1
    bool runs;
    uint32_t bytes;
  };

  void Open(uint64_t container);
  void BecomeDense();
  void CloseContainer();
  void CloseBitmap();

  std::string* const out_;
  const size_t start_;  // where the image begins in *out
  uint64_t bitmaps_ = 0;
  bool open_ = false;  // a container is being filled: values_, or words_ when dense_
  bool dense_ = false;
  uint64_t container_ = 0;
  std::vector<uint16_t> values_;
  std::array<uint64_t, kContainerWords> words_;
  std::vector<Head> heads_;  // of the bitmap that container_ belongs to
  std::string body_;
};

// Reads a whole image into *set, in its best forms. kInvalidArgument says what is wrong and at
// which byte, kTooLarge that kPortableRunChunksMax was passed; either leaves *set empty. Offsets
// must be right, containers may not be empty, touching runs are accepted. O(bytes + members).
Status ReadPortable(std::string_view bytes, FactSet* set);

}  // namespace tallystick
