// The image of an entity as the sets (or, for plain keys, kv) column family holds it: its fact sets
// (a sparse set whole, a chunked one as the directory of its chunks), the second copy of its
// counter parts, or its plain string. Layout per byte in docs/formats/entity-image.md.
//
// Pure and thread-safe.
#pragma once

#include <tallystick/result.h>
#include <tallystick/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

inline constexpr uint8_t kEntityImageVersion = 1;

struct EntityImage {
  struct Set {
    std::string_view metric;
    SetLabels labels;
    std::string_view header;  // FactSet::EncodeHeader
  };
  struct CounterPart {
    std::string_view slot;
    int64_t value = 0;
  };

  uint64_t sequence = 0;    // true up to this shard sequence
  uint64_t generation = 0;  // raised when the entity is deleted as a whole
  std::vector<Set> sets;
  std::vector<CounterPart> counter_parts;
  PlainType plain = PlainType::kNone;  // plain keys only
  uint64_t expire_at_ms = 0;           // plain keys only; 0 never
  uint64_t plain_bytes = 0;            // length of a plain bitmap as a string
  std::string_view plain_value;        // of a plain string
  std::string_view texts;              // of a plain set with texts: TextSet::EncodeHeader
};

// Writes sets by metric and counter parts by slot, in ascending order; each name at most once
// (asserted). Plain fields that the plain type does not have must be zero (asserted).
std::string EncodeEntityImage(std::string_view key, const EntityImage& image);
// Takes any bytes. Views point into `value`. kCorruption or kUnsupportedFormat, by name; *image is
// then of no use. Set headers are handed on unread: FactSet::DecodeHeader and
// TextSet::DecodeHeader validate them.
Status DecodeEntityImage(std::string_view key, std::string_view value, EntityImage* image);

}  // namespace tallystick
