// Key templates: which part of the engine a Redis key is a view of.
//
// A key is either a face of a fact set or count record, or a plain key. The faces:
//   bm:{metric}:{etype}:{eid}:{chunk}   one chunk of a fact set as a bitmap (also
//   ...:chunk_{chunk}) cnt:v1:{etype}:{eid}  sds:{etype}:{eid}   the count record of an entity
//   {etype}:likes:{eid}                 the fact set of metric like, as a set and as a bitmap
// One pair of braces around the whole etype:eid (Redis Cluster's hash tag) is stripped. What does
// not fit a template to the letter (chunk "007", empty part, eid over 512 bytes) is a plain key.
//
// Pure and thread-safe. Classifying allocates nothing; results are views into the key.
#pragma once

#include <tallystick/engine.h>
#include <tallystick/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tallystick::server {

inline constexpr std::string_view kLikeMetric = "like";
inline constexpr uint64_t kChunkMax = (uint64_t{1} << 49) - 1;  // chunk of uid 2^64-1

// Labels that the server keeps with a fact set (SetLabels): under which faces it was written.
inline constexpr uint8_t kLabelChunkFace = 1;  // any: as bm: chunks, or by FACT commands
inline constexpr uint8_t kLabelLikesFace = 2;  // any: as {etype}:likes:{eid}
inline constexpr uint8_t kLabelFirstSet = 1;   // first: the likes face began as a set
inline constexpr uint8_t kLabelFirstBits = 2;  // first: the likes face began as a bitmap

enum class Face : uint8_t {
  kPlain,     // the plain keyspace
  kChunk,     // bm:
  kRecord,    // cnt:v1: and sds:
  kLikes,     // {etype}:likes:{eid}
  kReserved,  // a name that the server keeps for itself
};

struct KeyView {
  Face face = Face::kPlain;
  std::string_view key;     // the whole key as the client wrote it
  std::string_view metric;  // of kChunk and kLikes
  std::string_view etype;   // of all faces but kPlain
  std::string_view eid;
  uint64_t chunk = 0;  // of kChunk

  FactKey fact() const { return {metric, etype, eid}; }
  EntityKey entity() const { return {etype, eid}; }
  // First uid and all uids of a kChunk.
  uint64_t chunk_first() const { return chunk * kChunkBits; }
  UidRange chunk_range() const { return {chunk_first(), chunk_first() + (kChunkBits - 1)}; }
};

KeyView ClassifyKey(std::string_view key);

// "etype:eid", or "{etype:eid}". nullopt when it names no entity.
std::optional<EntityKey> ParseEntity(std::string_view text);
// "metric:etype:eid", or "metric:{etype:eid}".
std::optional<FactKey> ParseFactKey(std::string_view text);

// The server keeps a note under this plain key; clients may not touch it.
inline constexpr std::string_view kReservedKey{"\0tallystick:shadows", 19};

// The keys under which a listed set or plain key appears in KEYS and SCAN.
void AppendChunkKey(const FactKey& key, uint64_t chunk, std::string* out);
void AppendLikesKey(const EntityKey& entity, std::string* out);

// What a KEYS or SCAN pattern says about the entities that it can match: exactly one entity when
// its literal prefix spells out etype and eid, so that no walk is needed. An eid that extends the
// spelled one behind a colon is not matched (see docs/differences.md).
std::optional<EntityKey> EntityPinnedBy(std::string_view literal_prefix);

}  // namespace tallystick::server
