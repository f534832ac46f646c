#include "engine/base/checksum.h"

#include "engine/base/coding.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tallystick {
namespace {

uint64_t RecordChecksum(std::string_view key, std::string_view body) {
  return XXH3_64bits_withSeed(body.data(), body.size(), XXH3_64bits(key.data(), key.size()));
}

}  // namespace

uint64_t Hash64(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

void SealRecord(std::string_view key, std::string* body) {
  PutU64(body, RecordChecksum(key, *body));
}

bool OpenRecord(std::string_view key, std::string_view sealed, std::string_view* body) {
  if (sealed.size() < 8) return false;
  const std::string_view inner = sealed.substr(0, sealed.size() - 8);
  if (LoadBigEndian<uint64_t>(sealed.data() + inner.size()) != RecordChecksum(key, inner))
    return false;
  *body = inner;
  return true;
}

}  // namespace tallystick
