#include "server/commands/key_access.h"

#include "server/error_reply.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

constexpr std::string_view kTypeNone = "none";
constexpr std::string_view kTypeString = "string";
constexpr std::string_view kTypeSet = "set";

Failure TooLarge() {
  return Fail(StatusCode::kTooLarge, "reply too large, use SSCAN");
}

uint64_t RecordBytes(CommandContext& c, const KeyView& view) {
  uint64_t bytes = 0;
  for (const SlotSpec& slot : c.engine().Slots(view.etype)) bytes += slot.width_bytes;
  return bytes;
}

// All uids that a chunk or likes view shows.
UidRange RangeOf(const KeyView& view) {
  return view.face == Face::kChunk ? view.chunk_range() : UidRange{};
}

}  // namespace

Result<KeyView> ResolveKey(CommandContext& c, std::string_view key) {
  const KeyView view = ClassifyKey(key);
  if (view.face == Face::kPlain && key.size() > kPlainKeyBytesMax) {
    return Fail(StatusCode::kInvalidArgument, "key is longer than 65536 bytes");
  }
  if (view.face == Face::kReserved) {
    return Fail(StatusCode::kInvalidArgument, "this key name is reserved");
  }
  if (view.face != Face::kLikes) return view;
  const Result<bool> shadowed = c.server.LikesShadowed();
  if (!shadowed) return Fail(shadowed.error());
  if (*shadowed) {
    const Result<PlainInfo> info = c.server.engine().GetPlainInfo(key, c.ticket);
    if (!info) return Fail(info.error());
    if (info->type != PlainType::kNone) {
      KeyView plain;
      plain.key = key;
      return plain;
    }
  }
  return view;
}

FactKey BitsOf(const KeyView& view) {
  return view.face == Face::kPlain ? FactKey{kPlainBitsMetric, "", view.key} : view.fact();
}

uint64_t FirstUidOf(const KeyView& view) {
  return view.face == Face::kChunk ? view.chunk_first() : 0;
}

std::optional<FactKey> SetOf(const KeyView& view) {
  switch (view.face) {
    case Face::kPlain:
      return FactKey{kPlainSetMetric, "", view.key};
    case Face::kLikes:
      return view.fact();
    default:
      return std::nullopt;
  }
}

Result<std::string_view> TypeOf(CommandContext& c, const KeyView& view) {
  switch (view.face) {
    case Face::kPlain: {
      const Result<PlainInfo> info = c.engine().GetPlainInfo(view.key, c.ticket);
      if (!info) return Fail(info.error());
      if (info->type == PlainType::kNone) return kTypeNone;
      return info->type == PlainType::kSet ? kTypeSet : kTypeString;
    }
    case Face::kChunk: {
      const Result<uint64_t> bits =
          c.engine().Cardinality(view.fact(), view.chunk_range(), c.ticket);
      if (!bits) return Fail(bits.error());
      return *bits > 0 ? kTypeString : kTypeNone;
    }
    case Face::kRecord: {
      const Result<Counts> counts = c.engine().GetCounts(view.entity(), c.ticket);
      if (!counts) return Fail(counts.error());
      return counts->source == CountSource::kNone ? kTypeNone : kTypeString;
    }
    case Face::kLikes: {
      const Result<Engine::SetInfo> info = c.engine().GetSetInfo(view.fact(), c.ticket);
      if (!info) return Fail(info.error());
      if (info->cardinality == 0) return kTypeNone;
      return info->labels.first == kLabelFirstBits ? kTypeString : kTypeSet;
    }
    case Face::kReserved:
      break;
  }
  return kTypeNone;
}

Result<uint64_t> StringBytes(CommandContext& c, const KeyView& view) {
  if (view.face == Face::kPlain) {
    const Result<PlainInfo> info = c.engine().GetPlainInfo(view.key, c.ticket);
    if (!info) return Fail(info.error());
    if (info->type == PlainType::kSet) return Fail(StatusCode::kWrongType, "");
    return info->string_bytes;
  }
  if (view.face == Face::kRecord) return RecordBytes(c, view);
  const auto last = c.engine().Last(view.fact(), RangeOf(view), c.ticket);
  if (!last) return Fail(last.error());
  if (!*last) return 0;
  return (**last - FirstUidOf(view)) / 8 + 1;
}

Result<std::optional<std::string>> StringValue(CommandContext& c, const KeyView& view) {
  if (view.face == Face::kRecord) {
    Result<std::string> record = c.engine().GetRecord(view.entity(), c.ticket);
    if (!record) return Fail(record.error());
    return std::optional(std::move(*record));
  }
  const Result<uint64_t> bytes = StringBytes(c, view);
  if (!bytes) return Fail(bytes.error());
  if (*bytes > kReplyBytesLimit) return TooLarge();
  if (view.face == Face::kPlain) return c.engine().PlainGet(view.key, c.ticket);
  if (*bytes == 0) return std::optional<std::string>();
  Result<std::string> bits = c.engine().ReadBits(view.fact(), FirstUidOf(view), *bytes, c.ticket);
  if (!bits) return Fail(bits.error());
  return std::optional(std::move(*bits));
}

}  // namespace tallystick::server
