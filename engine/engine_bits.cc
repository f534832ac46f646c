// EngineImpl: bit fields and bit operations.
#include "engine/bit_field.h"
#include "engine/engine_impl.h"
#include "engine/facts/bit_order.h"
#include "engine/facts/chunk_list.h"
#include "engine/facts/popcount.h"
#include "engine/plain_string.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tallystick {
namespace {

constexpr size_t kChunkBytes = kChunkBits / 8;
using ChunkString = std::array<char, kChunkBytes>;  // in Redis's order of bits

void CombineBytes(BitOp op, const ChunkString& with, ChunkString* into) {
  for (size_t i = 0; i < kChunkBytes; i += 8) {
    uint64_t a, b;
    std::memcpy(&a, into->data() + i, 8);
    std::memcpy(&b, with.data() + i, 8);
    a = op == BitOp::kAnd ? a & b : op == BitOp::kOr ? a | b : a ^ b;
    std::memcpy(into->data() + i, &a, 8);
  }
}

void ToChunkBits(const ChunkString& string, ChunkBits* bits) {
  for (size_t i = 0; i < kChunkWords; ++i) {
    uint64_t word;
    std::memcpy(&word, string.data() + i * 8, 8);
    (*bits)[i] = ReverseBitsInBytes(word);
  }
}

}  // namespace

Result<std::optional<uint64_t>> EngineImpl::FirstClear(const FactKey& key, UidRange range,
                                                       Ticket* ticket) {
  std::optional<uint64_t> found;
  if (range.first > range.last) return found;
  // Everything before the answer is a member, so its place is found by halving: first among chunks,
  // whose counts are known, then within one.
  const auto full = [&range](const FactSet& set, uint64_t last) {
    return set.CardinalityIn({range.first, last}) - 1 == last - range.first;
  };
  const auto chunk_of_first = [&](const FactSet& set) {
    uint64_t low = ChunkOf(range.first);
    uint64_t high = ChunkOf(range.last);
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (full(set, LastUidOf(middle))) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const Status status = ReadSet(
      key, ticket,
      [&](const FactSet& set) -> std::optional<uint64_t> {
        if (set.IsAbsent(ChunkOf(range.first))) return ChunkOf(range.first);
        const uint64_t chunk = chunk_of_first(set);
        if (set.IsAbsent(chunk)) return chunk;
        return std::nullopt;
      },
      [&](const SetView& view) {
        if (view.plain != nullptr && view.plain->type == PlainType::kString) {
          found = FirstStringBit(view.plain->value, range, false);
        } else if (view.set == nullptr) {
          found = range.first;
        } else {
          const uint64_t chunk = chunk_of_first(view.set->set);
          uint64_t low = std::max(range.first, FirstUidOf(chunk));
          uint64_t high = std::min(range.last, LastUidOf(chunk));
          while (low < high) {
            const uint64_t middle = low + (high - low) / 2;
            if (full(view.set->set, middle)) {
              low = middle + 1;
            } else {
              high = middle;
            }
          }
          if (!view.set->set.Contains(low)) found = low;
        }
        return Status();
      });
  if (!status.ok()) return Fail(status);
  return found;
}

Result<std::vector<std::optional<int64_t>>> EngineImpl::BitField(const FactKey& key,
                                                                 std::span<const BitFieldOp> ops,
                                                                 SetLabels labels,
                                                                 const WriteOptions& options,
                                                                 Ticket* ticket) {
  std::vector<std::optional<int64_t>> answers;
  const auto absent = [&ops](const FactSet& set) -> std::optional<uint64_t> {
    for (const BitFieldOp& op : ops) {
      if (const auto chunk = set.FirstAbsent({op.first, op.first + op.bits - 1u})) return chunk;
    }
    return std::nullopt;
  };
  const bool only_reads = std::all_of(ops.begin(), ops.end(), [](const BitFieldOp& op) {
    return op.kind == BitFieldOp::Kind::kGet;
  });
  if (only_reads) {  // needs no room for an event, and is answered when writes are refused
    const Status status = ReadSet(key, ticket, absent, [&](const SetView& view) {
      const bool string = view.plain != nullptr && view.plain->type == PlainType::kString;
      const auto get = [&](uint64_t bit) {
        return string ? StringBit(view.plain->value, bit)
                      : view.set != nullptr && view.set->set.Contains(bit);
      };
      for (const BitFieldOp& op : ops)
        answers.push_back(RunBitFieldOp(op, get, [](uint64_t, bool) {}));
      return Status();
    });
    if (!status.ok()) return Fail(status);
    return answers;
  }
  Ticket own;
  const auto decide = [&](const WritePath::Current& now,
                          WritePath::Change* change) -> std::optional<uint64_t> {
    answers.clear();
    const bool string = now.plain != nullptr && now.plain->type == PlainType::kString;
    if (now.set != nullptr) {
      if (const auto chunk = absent(*now.set)) return chunk;
    }
    std::map<uint64_t, bool> written;
    for (const BitFieldOp& op : ops) {
      const auto get = [&](uint64_t bit) {
        if (const auto found = written.find(bit); found != written.end()) return found->second;
        if (string) return StringBit(now.plain->value, bit);
        return now.set != nullptr && now.set->Contains(bit);
      };
      answers.push_back(RunBitFieldOp(op, get, [&](uint64_t bit, bool on) { written[bit] = on; }));
      if (op.kind != BitFieldOp::Kind::kGet) {
        const uint64_t bytes = (op.first + op.bits - 1u) / 8 + 1;
        change->bits_bytes = std::max(change->bits_bytes, bytes);
      }
    }
    change->labels = labels;
    if (string) {
      std::string value = now.plain->value;
      if (value.size() < change->bits_bytes) value.resize(change->bits_bytes, '\0');
      for (const auto& [bit, on] : written) SetStringBit(&value, bit, on);
      change->value = std::move(value);
      return std::nullopt;
    }
    for (const auto& [bit, on] : written) {
      const bool before = now.set != nullptr && now.set->Contains(bit);
      if (on && !before) change->added.push_back(bit);
      if (!on && before) change->removed.push_back(bit);
    }
    return std::nullopt;
  };
  const Status status = write_path_.ChangeSet(key, options.busy_timeout_ms, &own, decide);
  if (!status.ok()) return Fail(status);
  if (Status s = Finish(options, own, ticket); !s.ok()) return Fail(std::move(s));
  return answers;
}

Result<BulkOutcome> EngineImpl::ReplaceRange(const FactKey& key, UidRange range,
                                             std::span<const uint64_t> members, SetLabels labels,
                                             const WriteOptions& options, Ticket* ticket) {
  BulkOutcome outcome;
  Ticket own;
  const auto decide = [&](const WritePath::Current& now,
                          WritePath::Change* change) -> std::optional<uint64_t> {
    std::vector<uint64_t> before;
    if (now.set != nullptr) {
      if (const auto chunk = now.set->FirstAbsent(range)) return chunk;
      const uint64_t count = now.set->CardinalityIn(range);
      if (count > 0) static_cast<void>(now.set->Collect(range.first, count, &before));
    }
    std::set_difference(members.begin(), members.end(), before.begin(), before.end(),
                        std::back_inserter(change->added));
    std::set_difference(before.begin(), before.end(), members.begin(), members.end(),
                        std::back_inserter(change->removed));
    if (!change->added.empty()) change->labels = labels;
    outcome = {change->added.size(), change->removed.size()};
    return std::nullopt;
  };
  const Status status = write_path_.ChangeSet(key, options.busy_timeout_ms, &own, decide);
  if (!status.ok()) return Fail(status);
  if (Status s = Finish(options, own, ticket); !s.ok()) return Fail(std::move(s));
  return outcome;
}

Result<uint64_t> EngineImpl::StoreBits(BitOp op, std::span<const BitSource> sources,
                                       const FactKey& target, UidRange range, SetLabels labels,
                                       const WriteOptions& options, Ticket* ticket) {
  uint64_t bytes = 0;
  for (const BitSource& source : sources) bytes = std::max(bytes, source.bytes);
  const bool plain = target.etype.empty();
  if (bytes > kPlainBitMax / 8 + 1)
    return Fail(StatusCode::kTooLarge, "a result of a bit operation is at most 512 MB");
  FactSet set;
  std::string list;
  ChunkListWriter writer(&list);
  Ticket own;
  ChunkBits bits;
  ChunkString result, piece;
  // Chunk by chunk: each piece of a source is read under a short lock of its own.
  for (uint64_t at = 0; at < bytes; at += kChunkBytes) {
    const size_t wanted = std::min<uint64_t>(kChunkBytes, bytes - at);
    for (size_t i = 0; i < sources.size(); ++i) {
      const BitSource& source = sources[i];
      piece.fill(0);
      if (source.bytes > at) {
        const size_t length = std::min<uint64_t>(wanted, source.bytes - at);
        if (source.key.metric.empty()) {
          std::copy_n(source.literal.data() + at, length, piece.data());
        } else {
          const Result<std::string> read =
              ReadBits(source.key, source.first + at * 8, length, ticket);
          if (!read) return Fail(read.error());
          std::copy(read->begin(), read->end(), piece.data());
        }
      }
      if (i == 0) {
        result = piece;
      } else {
        CombineBytes(op, piece, &result);
      }
    }
    if (op == BitOp::kNot) {
      for (size_t i = 0; i < wanted; ++i) result[i] = static_cast<char>(~result[i]);
    }
    ToChunkBits(result, &bits);
    const uint64_t chunk = at / kChunkBytes;
    const auto count = static_cast<uint32_t>(Popcount(bits.data(), kChunkWords));
    if (count > 0) set.AppendChunk(chunk, bits, count);
    if (plain) writer.AppendChunk(chunk, bits);
  }
  Status status;
  if (plain) {
    writer.Finish();
    status = write_path_.PlainReplace(target.eid, kPlainBitsMetric,
                                      {std::move(set), std::move(list), bytes, nullptr},
                                      options.busy_timeout_ms, &own);
  } else {
    const auto last = set.LastIn({});
    if (last && *last > range.last - range.first) {
      return Fail(StatusCode::kInvalidArgument, "the result has a bit beyond the target's last");
    }
    const auto replaced = ReplaceAtOnce(target, std::move(set), range, Others::kRemove, labels,
                                        options.busy_timeout_ms, &own);
    if (!replaced) status = replaced.error();
  }
  if (!status.ok()) return Fail(status);
  if (Status s = Finish(options, own, ticket); !s.ok()) return Fail(std::move(s));
  return bytes;
}

}  // namespace tallystick
