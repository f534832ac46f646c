// BITPOS, BITFIELD, BITOP on plain bitmaps and strings and on the bitmap faces of facts.
#include <algorithm>

#include "server/commands/bit_view.h"
#include "server/commands/handlers.h"
#include "server/commands/key_access.h"
#include "server/error_reply.h"
#include "server/resp/number.h"

namespace tallystick::server {

namespace {

// Redis's type of a field: i1 to i64, u1 to u63.
bool ParseFieldType(std::string_view text, BitFieldOp* op) {
  if (text.empty() || (text[0] != 'i' && text[0] != 'u')) return false;
  op->is_signed = text[0] == 'i';
  const std::optional<int64_t> bits = ParseInt64(text.substr(1));
  if (!bits || *bits < 1 || *bits > (op->is_signed ? 64 : 63)) return false;
  op->bits = static_cast<uint8_t>(*bits);
  return true;
}

// "100", or "#3": the third field of this width. The whole field must lie within the view.
std::optional<uint64_t> ParseFieldOffset(const KeyView& view, std::string_view text, uint8_t bits) {
  const bool scaled = !text.empty() && text[0] == '#';
  const std::optional<uint64_t> number = ParseUint64(scaled ? text.substr(1) : text);
  uint64_t offset = 0;
  if (!number || __builtin_mul_overflow(*number, scaled ? uint64_t{bits} : 1, &offset)) return {};
  const uint64_t max = BitOffsetMax(view);
  if (offset > max || max - offset < bits - 1u) return {};
  return offset;
}

// Operations from args[2] on; empty text: fine, else the error.
std::string_view ParseFieldOps(const CommandContext& c, const KeyView& view,
                               std::vector<BitFieldOp>* ops, bool* writes) {
  auto overflow = BitFieldOp::Overflow::kWrap;
  for (size_t i = 2; i < c.argc();) {
    const size_t left = c.argc() - i - 1;
    if (c.Is(i, "OVERFLOW") && left >= 1) {
      if (c.Is(i + 1, "WRAP")) {
        overflow = BitFieldOp::Overflow::kWrap;
      } else if (c.Is(i + 1, "SAT")) {
        overflow = BitFieldOp::Overflow::kSaturate;
      } else if (c.Is(i + 1, "FAIL")) {
        overflow = BitFieldOp::Overflow::kFail;
      } else {
        return error::kBitOverflow;
      }
      i += 2;
      continue;
    }
    BitFieldOp op;
    op.overflow = overflow;
    if (c.Is(i, "GET") && left >= 2) {
      op.kind = BitFieldOp::Kind::kGet;
    } else if (c.Is(i, "SET") && left >= 3) {
      op.kind = BitFieldOp::Kind::kSet;
    } else if (c.Is(i, "INCRBY") && left >= 3) {
      op.kind = BitFieldOp::Kind::kIncrBy;
    } else {
      return error::kSyntax;
    }
    if (!ParseFieldType(c.args[i + 1], &op)) return error::kBitType;
    const std::optional<uint64_t> offset = ParseFieldOffset(view, c.args[i + 2], op.bits);
    if (!offset) return error::kBitOffset;
    op.first = FirstUidOf(view) + *offset;
    i += 3;
    if (op.kind != BitFieldOp::Kind::kGet) {
      const std::optional<int64_t> value = ParseInt64(c.args[i]);
      if (!value) return error::kNotInteger;
      op.value = *value;
      *writes = true;
      ++i;
    }
    ops->push_back(op);
  }
  return {};
}

Flow RunBitField(CommandContext& c, bool may_write) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  if (view->face == Face::kRecord) return c.Error(error::kRecordBits);
  std::vector<BitFieldOp> ops;
  bool writes = false;
  const std::string_view wrong = ParseFieldOps(c, *view, &ops, &writes);
  if (!wrong.empty()) return c.Error(wrong);
  if (writes && !may_write) return c.Error(error::kBitFieldReadOnly);
  const Result<std::vector<std::optional<int64_t>>> answers = c.engine().BitField(
      BitsOf(*view), ops, BitLabels(*view), CommandContext::Deferred(), c.ticket);
  if (!answers) return c.Fail(answers.error());
  c.reply().Array(answers->size());
  for (const std::optional<int64_t>& answer : *answers) {
    if (answer) {
      c.writer.Integer(*answer);
    } else {
      c.writer.Null();
    }
  }
  return Flow::kNext;
}

// The first bit of this value within first..last of the view; nullopt when there is none.
Result<std::optional<uint64_t>> FindBit(CommandContext& c, const KeyView& view, bool bit,
                                        uint64_t first, uint64_t last) {
  if (view.face == Face::kRecord) {
    const Result<std::optional<std::string>> value = StringValue(c, view);
    if (!value) return Fail(value.error());
    for (uint64_t at = first; at <= last && at / 8 < (*value)->size(); ++at) {
      const auto byte = static_cast<unsigned char>((**value)[at / 8]);
      if ((((byte >> (7 - at % 8)) & 1) != 0) == bit) return std::optional(at);
    }
    return std::optional<uint64_t>();
  }
  const uint64_t base = FirstUidOf(view);
  std::optional<uint64_t> found;
  if (bit) {
    std::vector<uint64_t> uids;
    const auto next = c.engine().Scan(BitsOf(view), base + first, 1, &uids, c.ticket);
    if (!next) return Fail(next.error());
    if (!uids.empty() && uids.front() <= base + last) found = uids.front();
  } else {
    const auto clear = c.engine().FirstClear(BitsOf(view), {base + first, base + last}, c.ticket);
    if (!clear) return Fail(clear.error());
    found = *clear;
  }
  if (found) *found -= base;
  return found;
}

}  // namespace

Flow BitPos(CommandContext& c) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  const std::optional<int64_t> bit = ParseInt64(c.args[2]);
  if (!bit) return c.Error(error::kNotInteger);
  if (*bit != 0 && *bit != 1) return c.Error(error::kBitArgument);
  // As Redis 7.0: a missing key is answered before the other arguments are looked at.
  const Result<std::string_view> type = TypeOf(c, *view);
  if (!type) return c.Fail(type.error());
  if (*type == "none") {
    c.reply().Integer(*bit == 1 ? -1 : 0);
    return Flow::kNext;
  }
  if (*type == "set" && view->face == Face::kPlain) return c.Error(error::kWrongType);
  if (c.argc() > 6) return c.Error(error::kSyntax);
  int64_t start = 0;
  int64_t end = -1;
  bool in_bits = false;
  if (c.argc() >= 4) {
    const std::optional<int64_t> given = ParseInt64(c.args[3]);
    if (!given) return c.Error(error::kNotInteger);
    start = *given;
    if (c.argc() == 6) {
      in_bits = c.Is(5, "BIT");
      if (!in_bits && !c.Is(5, "BYTE")) return c.Error(error::kSyntax);
    }
    if (c.argc() >= 5) {
      const std::optional<int64_t> given_end = ParseInt64(c.args[4]);
      if (!given_end) return c.Error(error::kNotInteger);
      end = *given_end;
    }
  }
  const Result<uint64_t> bytes = StringBytes(c, *view);
  if (!bytes) return c.Fail(bytes.error());
  const BitRange range = ResolveBitRange(start, end, in_bits, *bytes);
  if (range.empty) {
    c.reply().Integer(-1);
    return Flow::kNext;
  }
  const Result<std::optional<uint64_t>> found =
      FindBit(c, *view, *bit == 1, range.first, range.last);
  if (!found) return c.Fail(found.error());
  if (*found) {
    c.reply().Unsigned(**found);
  } else if (*bit == 0 && c.argc() < 5) {
    // Without an end the string goes on with zeros.
    c.reply().Unsigned(range.last + 1);
  } else {
    c.reply().Integer(-1);
  }
  return Flow::kNext;
}

Flow BitField(CommandContext& c) {
  return RunBitField(c, true);
}

Flow BitFieldRo(CommandContext& c) {
  return RunBitField(c, false);
}

Flow BitOperation(CommandContext& c) {
  BitOp op = BitOp::kAnd;
  if (c.Is(1, "OR")) {
    op = BitOp::kOr;
  } else if (c.Is(1, "XOR")) {
    op = BitOp::kXor;
  } else if (c.Is(1, "NOT")) {
    op = BitOp::kNot;
  } else if (!c.Is(1, "AND")) {
    return c.Error(error::kSyntax);
  }
  if (op == BitOp::kNot && c.argc() != 4) return c.Error(error::kBitNot);
  const Result<KeyView> target = ResolveKey(c, c.args[2]);
  if (!target) return c.Fail(target.error());
  if (target->face == Face::kRecord) return c.Error(error::kRecordBits);
  std::vector<BitSource> sources;
  std::vector<std::string> records(c.argc());
  uint64_t bytes_in_all = 0;
  for (size_t i = 3; i < c.argc(); ++i) {
    const Result<KeyView> view = ResolveKey(c, c.args[i]);
    if (!view) return c.Fail(view.error());
    BitSource source;
    if (view->face == Face::kRecord) {
      Result<std::optional<std::string>> record = StringValue(c, *view);
      if (!record) return c.Fail(record.error());
      records[i] = record->value_or("");
      source.literal = records[i];
      source.bytes = records[i].size();
    } else {
      const Result<uint64_t> bytes = StringBytes(c, *view);
      if (!bytes) return c.Fail(bytes.error());
      source = {BitsOf(*view), FirstUidOf(*view), *bytes, {}};
    }
    if (__builtin_add_overflow(bytes_in_all, source.bytes, &bytes_in_all)) {
      return c.Error(error::kStringTooLong);
    }
    sources.push_back(source);
  }
  if (bytes_in_all > kInlineBitOpBytes && !c.slow_lane) return Flow::kSlowLane;
  const UidRange range = target->face == Face::kChunk ? target->chunk_range() : UidRange{};
  const Result<uint64_t> bytes =
      c.engine().StoreBits(op, sources, BitsOf(*target), range, BitLabels(*target),
                           CommandContext::Deferred(), c.ticket);
  if (!bytes) {
    if (bytes.error().code() == StatusCode::kTooLarge) return c.Error(error::kStringTooLong);
    return c.Fail(bytes.error());
  }
  c.reply().Unsigned(*bytes);
  return Flow::kNext;
}

}  // namespace tallystick::server
