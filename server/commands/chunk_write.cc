#include "server/commands/chunk_write.h"

#include <algorithm>
#include <vector>

namespace tallystick::server {

namespace {

constexpr size_t kChunkBytes = kChunkBits / 8;

unsigned ByteAt(std::string_view bytes, size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0u;
}

}  // namespace

Status WriteChunk(CommandContext& c, const KeyView& chunk, std::string_view old,
                  std::string_view value) {
  if (value.size() > kChunkBytes &&
      value.substr(kChunkBytes).find_first_not_of('\0') != std::string_view::npos) {
    return Status::Error(StatusCode::kInvalidArgument,
                         "a chunk holds 32768 bits: the value has a bit beyond them");
  }
  std::vector<FactOp> ops;
  const size_t bytes = std::min(std::max(old.size(), value.size()), kChunkBytes);
  for (size_t at = 0; at < bytes; ++at) {
    const unsigned wanted = ByteAt(value, at);
    for (unsigned differing = ByteAt(old, at) ^ wanted; differing != 0;) {
      const unsigned bit =
          static_cast<unsigned>(__builtin_clz(differing)) - 24;  // 0: most significant
      const unsigned mask = 0x80u >> bit;
      const bool set = (wanted & mask) != 0;
      differing &= ~mask;
      ops.push_back({.kind = set ? FactOpKind::kSet : FactOpKind::kClear,
                     .labels = {.any = set ? kLabelChunkFace : uint8_t{0}},
                     .key = chunk.fact(),
                     .uid = chunk.chunk_first() + at * 8 + bit});
    }
  }
  if (ops.empty()) return {};
  std::vector<FactOutcome> outcomes(ops.size());
  const Status status = c.engine().Apply(ops, outcomes, CommandContext::Deferred(), c.ticket);
  if (!status.ok()) return status;
  for (const FactOutcome& outcome : outcomes) {
    if (outcome.error != StatusCode::kOk) return Status::Error(outcome.error, "");
  }
  return {};
}

}  // namespace tallystick::server
