// SETBIT, GETBIT, BITCOUNT on plain bitmaps and on the bitmap faces of facts.
#include <algorithm>
#include <bit>

#include "server/commands/bit_view.h"
#include "server/commands/handlers.h"
#include "server/commands/key_access.h"
#include "server/error_reply.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

uint64_t CountBits(std::string_view bytes) {
  uint64_t bits = 0;
  for (char c : bytes) bits += static_cast<uint64_t>(std::popcount(static_cast<unsigned char>(c)));
  return bits;
}

// Bits first..last (both included, most significant first) of a string.
uint64_t CountBits(std::string_view bytes, uint64_t first, uint64_t last) {
  const auto byte_at = [bytes](uint64_t bit) { return static_cast<unsigned char>(bytes[bit / 8]); };
  if (first / 8 == last / 8) {
    const unsigned mask = (0xffu >> (first % 8)) & (0xff00u >> (last % 8 + 1));
    return static_cast<uint64_t>(std::popcount(byte_at(first) & mask));
  }
  uint64_t bits = static_cast<uint64_t>(std::popcount(byte_at(first) & (0xffu >> (first % 8))));
  bits += CountBits(bytes.substr(first / 8 + 1, last / 8 - first / 8 - 1));
  return bits + static_cast<uint64_t>(std::popcount(byte_at(last) & (0xff00u >> (last % 8 + 1))));
}

Result<uint64_t> CountView(CommandContext& c, const KeyView& view, const BitRange& range) {
  bool as_string = view.face == Face::kRecord;
  if (view.face == Face::kPlain) {
    const Result<PlainInfo> info = c.engine().GetPlainInfo(view.key, c.ticket);
    if (!info) return Fail(info.error());
    as_string = info->type == PlainType::kString;
  }
  if (as_string) {
    const Result<std::optional<std::string>> value = StringValue(c, view);
    if (!value) return Fail(value.error());
    const std::string_view bytes = *value ? std::string_view(**value) : std::string_view();
    if (range.whole) return CountBits(bytes);
    if (range.first / 8 >= bytes.size()) return 0;
    return CountBits(bytes, range.first, std::min(range.last, bytes.size() * 8 - 1));
  }
  UidRange uids = view.face == Face::kChunk ? view.chunk_range() : UidRange{};
  if (!range.whole) {
    uids.last = FirstUidOf(view) + range.last;
    uids.first = FirstUidOf(view) + range.first;
  }
  return c.engine().Cardinality(BitsOf(view), uids, c.ticket);
}

}  // namespace

Flow SetBit(CommandContext& c) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  const std::optional<uint64_t> offset = ParseUint64(c.args[2]);
  if (!offset || *offset > BitOffsetMax(*view)) return c.Error(error::kBitOffset);
  if (c.args[3] != "0" && c.args[3] != "1") return c.Error(error::kBitValue);
  if (view->face == Face::kRecord) {
    return c.Error(error::kRecordBits);
  }
  const bool set = c.args[3] == "1";
  c.batch.Open(FactBatch::Reply::kBefore, 1, true);
  c.batch.Add({.kind = set ? FactOpKind::kSet : FactOpKind::kClear,
               .labels = set ? BitLabels(*view) : SetLabels{},
               .key = BitsOf(*view),
               .uid = FirstUidOf(*view) + *offset});
  return Flow::kNext;
}

Flow GetBit(CommandContext& c) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  const std::optional<uint64_t> offset = ParseUint64(c.args[2]);
  if (!offset || *offset > BitOffsetMax(*view)) return c.Error(error::kBitOffset);
  if (view->face == Face::kRecord) {
    BitRange bit;
    bit.whole = false;
    bit.first = bit.last = *offset;
    const Result<uint64_t> set = CountView(c, *view, bit);
    if (!set) return c.Fail(set.error());
    c.reply().Unsigned(*set);
    return Flow::kNext;
  }
  c.batch.Open(FactBatch::Reply::kBefore, 1, false);
  c.batch.Add({.kind = FactOpKind::kHas,
               .labels = {},
               .key = BitsOf(*view),
               .uid = FirstUidOf(*view) + *offset});
  return Flow::kNext;
}

Flow BitCount(CommandContext& c) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  // As Redis 7.0: a missing key is 0 before the other arguments are looked at.
  const Result<std::string_view> type = TypeOf(c, *view);
  if (!type) return c.Fail(type.error());
  if (*type == "none") {
    c.reply().Integer(0);
    return Flow::kNext;
  }
  if (*type == "set" && view->face == Face::kPlain) return c.Error(error::kWrongType);
  BitRange range;
  if (c.argc() == 4 || c.argc() == 5) {
    const std::optional<int64_t> start = ParseInt64(c.args[2]);
    const std::optional<int64_t> end = ParseInt64(c.args[3]);
    if (!start || !end) return c.Error(error::kNotInteger);
    const bool in_bits = c.Is(4, "BIT");
    if (c.argc() == 5 && !in_bits && !c.Is(4, "BYTE")) return c.Error(error::kSyntax);
    if (*start < 0 && *end < 0 && *start > *end) {
      c.reply().Integer(0);
      return Flow::kNext;
    }
    const Result<uint64_t> bytes = StringBytes(c, *view);
    if (!bytes) return c.Fail(bytes.error());
    range = ResolveBitRange(*start, *end, in_bits, *bytes);
  } else if (c.argc() != 2) {
    return c.Error(error::kSyntax);
  }
  if (range.empty) {
    c.reply().Integer(0);
    return Flow::kNext;
  }
  const Result<uint64_t> bits = CountView(c, *view, range);
  if (!bits) return c.Fail(bits.error());
  c.reply().Unsigned(*bits);
  return Flow::kNext;
}

}  // namespace tallystick::server
