// Many members as bytes, chunk by chunk: what a bulk change carries in the journal. A dense chunk
// costs 4 KiB and a run of any length a few bytes, so a change of a billion bits stays writable.
//
// Layout per byte in docs/formats/set-image.md. Pure functions; readers treat their bytes as
// hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/facts/chunk_bits.h"
#include "engine/facts/fact_set.h"

namespace tallystick {

inline constexpr uint8_t kChunkListImage = 1;

// Appends a chunk list to *out, from members in ascending order.
class ChunkListWriter {
 public:
  explicit ChunkListWriter(std::string* out);
  // Above all that was given before. Amortized O(1).
  void Append(uint64_t uid);
  // A chunk of which nothing was given before; above all that was. No member: nothing is written.
  void AppendChunk(uint64_t chunk, const ChunkBits& bits);
  // Writes what is left; nothing may follow.
  void Finish();

 private:
  void WriteChunk(uint64_t chunk, std::string_view image);

  std::string* const out_;
  uint64_t next_chunk_ = 0;       // the lowest that may be written now
  uint64_t chunk_ = 0;            // of values_
  std::vector<uint16_t> values_;  // ascending bits of chunk_
  std::string image_;
};

// Calls visit(chunk, bits) for every chunk, ascending; it answers whether to go on. False when the
// bytes are no valid list or a visit said no; what was visited before stays visited.
bool ReadChunkList(std::string_view bytes,
                   const std::function<bool(uint64_t chunk, const ChunkBits& bits)>& visit);

// The set of a list's members, in its best forms. False leaves *set empty.
bool SetFromChunkList(std::string_view bytes, FactSet* set);

// Payload of EventKind::kBulkChange: what came and what went, each ascending.
void EncodeChange(std::span<const uint64_t> added, std::span<const uint64_t> removed,
                  std::string* out);
// Takes the payload apart into two chunk lists, whose own bytes are not yet looked at.
bool SplitChange(std::string_view bytes, std::string_view* added, std::string_view* removed);

}  // namespace tallystick
