// EngineImpl: facts, written and read.
#include "engine/engine_impl.h"
#include "engine/plain_string.h"

#include <algorithm>

namespace tallystick {

namespace {

constexpr size_t kReadBitsMax = 64u << 20;

}  // namespace

Status EngineImpl::Apply(std::span<const FactOp> ops, std::span<FactOutcome> outcomes,
                         const WriteOptions& options, Ticket* ticket) {
  Ticket own;
  write_path_.Apply(ops, outcomes, options.busy_timeout_ms, &own);
  return Finish(options, own, ticket);
}

Result<bool> EngineImpl::Move(const FactOp& take, const FactOp& put, const WriteOptions& options,
                              Ticket* ticket) {
  Ticket own;
  auto moved = write_path_.Move(take, put, options.busy_timeout_ms, &own);
  if (!moved) return moved;
  if (Status s = Finish(options, own, ticket); !s.ok()) return Fail(std::move(s));
  return moved;
}

Result<uint64_t> EngineImpl::ClearRange(const FactKey& key, UidRange range,
                                        const WriteOptions& options, Ticket* ticket) {
  Ticket own;
  auto cleared = write_path_.ClearRange(key, range, options.busy_timeout_ms, &own);
  if (!cleared) return cleared;
  if (Status s = Finish(options, own, ticket); !s.ok()) return Fail(std::move(s));
  return cleared;
}

Status EngineImpl::ReadSet(const FactKey& key, Ticket* ticket,
                           const std::function<std::optional<uint64_t>(const FactSet&)>& absent,
                           const std::function<Status(const SetView&)>& run) {
  if (Status s = CheckFactKey(key); !s.ok()) return s;
  Status result;
  const Status status = write_path_.WithEntity(
      key.entity(), false, 0, [&](WritePath::Located& at) -> WritePath::Need {
        const MetricSet* set = nullptr;
        const PlainState* plain = nullptr;
        if (at.entity != nullptr) {
          if (at.etype.id == kPlainEtype) {
            if (at.entity->plain() && LivePlain(*at.entity->plain(), write_path_.NowMs()))
              plain = at.entity->plain();
          }
          const auto metric = state_.catalog.FindMetric(key.metric);
          if (metric && (at.etype.id != kPlainEtype || plain != nullptr))
            set = at.entity->FindSet(*metric);
        }
        if (set != nullptr) {
          if (const auto chunk = absent(set->set))
            return WritePath::Need::Chunk(set->metric, *chunk);
        }
        if (plain != nullptr) {
          const bool wrong = key.metric == kPlainSetMetric ? plain->type != PlainType::kSet
                                                           : plain->type == PlainType::kSet;
          if (wrong) {
            result = Status::Error(StatusCode::kWrongType, "the key holds another kind of value");
            return WritePath::Need::Done();
          }
        }
        result = run(SetView{at, set, plain});
        write_path_.NoteRead(at, ticket);
        return WritePath::Need::Done();
      });
  return status.ok() ? result : status;
}

Result<uint64_t> EngineImpl::Cardinality(const FactKey& key, UidRange range, Ticket* ticket) {
  uint64_t count = 0;
  if (range.first > range.last) return count;
  const Status status = ReadSet(
      key, ticket, [&](const FactSet& set) { return set.FirstAbsentPartly(range); },
      [&](const SetView& view) {
        if (view.plain != nullptr && view.plain->type == PlainType::kString) {
          count = StringBits(view.plain->value, range);
        } else if (view.set != nullptr) {
          count = view.set->set.CardinalityIn(range);
        }
        const bool all = range.first == 0 && range.last == UINT64_MAX;
        if (all && view.plain != nullptr && view.plain->has_texts()) {
          count += view.plain->texts->cardinality();
        }
        return Status();
      });
  if (!status.ok()) return Fail(status);
  return count;
}

Result<std::optional<uint64_t>> EngineImpl::Scan(const FactKey& key, uint64_t from, size_t limit,
                                                 std::vector<uint64_t>* uids, Ticket* ticket) {
  std::optional<uint64_t> next;
  const size_t before = uids->size();
  // Chunk by chunk: what comes before the first absent chunk is taken, then that chunk is loaded.
  const Status status = ReadSet(
      key, ticket,
      [&](const FactSet& set) -> std::optional<uint64_t> {
        const auto chunk = set.FirstAbsent({from, UINT64_MAX});
        if (!chunk) return std::nullopt;
        const uint64_t chunk_first = *chunk * kChunkBits;
        if (chunk_first > from && set.CardinalityIn({from, chunk_first - 1}) >= limit)
          return std::nullopt;
        return chunk;
      },
      [&](const SetView& view) {
        if (view.plain != nullptr && view.plain->type == PlainType::kString) {
          auto bit = FirstStringBit(view.plain->value, {from, UINT64_MAX}, true);
          while (bit && uids->size() - before < limit) {
            uids->push_back(*bit);
            bit = FirstStringBit(view.plain->value, {*bit + 1, UINT64_MAX}, true);
          }
          next = bit;
        } else if (view.set != nullptr) {
          next = view.set->set.Collect(from, limit, uids);
        }
        return Status();
      });
  if (!status.ok()) return Fail(status);
  return next;
}

Result<std::string> EngineImpl::ReadBits(const FactKey& key, uint64_t first, size_t bytes,
                                         Ticket* ticket) {
  if (first % 8 != 0)
    return Fail(StatusCode::kInvalidArgument, "the first bit must be a multiple of 8");
  if (bytes > kReadBitsMax) return Fail(StatusCode::kTooLarge, "at most 64 MiB of bits at once");
  std::string bits(bytes, '\0');
  if (bytes == 0) return bits;
  const uint64_t span = uint64_t{bytes} * 8 - 1;
  const UidRange range{first, first > UINT64_MAX - span ? UINT64_MAX : first + span};
  const Status status = ReadSet(
      key, ticket, [&](const FactSet& set) { return set.FirstAbsent(range); },
      [&](const SetView& view) {
        if (view.plain != nullptr && view.plain->type == PlainType::kString) {
          const std::string_view value = view.plain->value;
          if (first / 8 < value.size()) {
            const std::string_view part = value.substr(first / 8, bytes);
            std::copy(part.begin(), part.end(), bits.begin());
          }
        } else if (view.set != nullptr) {
          view.set->set.ReadBits(first, bytes, bits.data());
        }
        return Status();
      });
  if (!status.ok()) return Fail(status);
  return bits;
}

Result<std::optional<uint64_t>> EngineImpl::Last(const FactKey& key, UidRange range,
                                                 Ticket* ticket) {
  std::optional<uint64_t> last;
  if (range.first > range.last) return last;
  const Status status = ReadSet(
      key, ticket,
      [&](const FactSet& set) -> std::optional<uint64_t> {
        // The answer lies in the last chunk with a member in range; only that one is needed.
        std::vector<uint64_t> chunks;
        set.ChunksWithMembers(&chunks);
        for (auto it = chunks.rbegin(); it != chunks.rend(); ++it) {
          const uint64_t chunk_first = *it * kChunkBits,
                         chunk_last = chunk_first + (kChunkBits - 1);
          if (chunk_first > range.last || chunk_last < range.first) continue;
          if (set.IsAbsent(*it)) return *it;
          if (set.LastIn({std::max(chunk_first, range.first), std::min(chunk_last, range.last)}))
            break;
        }
        return std::nullopt;
      },
      [&](const SetView& view) {
        if (view.plain != nullptr && view.plain->type == PlainType::kString) {
          last = LastStringBit(view.plain->value, range);
        } else if (view.set != nullptr) {
          last = view.set->set.LastIn(range);
        }
        return Status();
      });
  if (!status.ok()) return Fail(status);
  return last;
}

Result<Engine::SetInfo> EngineImpl::GetSetInfo(const FactKey& key, Ticket* ticket) {
  SetInfo info;
  const Status status = ReadSet(
      key, ticket, [](const FactSet&) { return std::nullopt; },
      [&](const SetView& view) {
        if (view.set == nullptr) return Status();
        const FactSet::Shape shape = view.set->set.shape();
        info.labels = view.set->labels();
        info.cardinality = view.set->set.cardinality();
        info.chunks_sparse = shape.sparse;
        info.chunks_array = shape.array;
        info.chunks_roaring = shape.roaring;
        info.chunks_dense = shape.dense;
        info.chunks_on_disk = shape.absent;
        info.memory_bytes = sizeof(MetricSet) + view.set->set.MemoryBytes();
        info.resident = shape.absent == 0;
        info.sequence = LastSequence(*view.at.entity);
        return Status();
      });
  if (!status.ok()) return Fail(status);
  return info;
}

}  // namespace tallystick
