// KEYS, SCAN, DBSIZE: the keys under which facts and plain values appear.
#include <functional>

#include "server/commands/handlers.h"
#include "server/commands/key_access.h"
#include "server/commands/member_scan.h"
#include "server/error_reply.h"
#include "server/glob.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

constexpr size_t kWalkHint = 1000;

// A fact set that no face has labelled (written by an embedding program) is listed by its chunks.
bool ShowsChunks(const Listed& listed) {
  return (listed.labels.any & kLabelChunkFace) != 0 || listed.labels.any == 0;
}

bool ShowsLikes(const Listed& listed) {
  return listed.metric == kLikeMetric && (listed.labels.any & kLabelLikesFace) != 0;
}

using Visit = std::function<void(std::string_view key, std::string_view type)>;

// Calls visit for every key under which the listed thing appears.
void VisitKeys(const Listed& listed, const Visit& visit) {
  if (listed.etype.empty()) {
    if (listed.eid == kReservedKey) return;
    visit(listed.eid, listed.plain == PlainType::kSet ? "set" : "string");
    return;
  }
  std::string key;
  if (ShowsChunks(listed)) {
    const FactKey fact{listed.metric, listed.etype, listed.eid};
    for (uint64_t chunk : listed.chunks) {
      key.clear();
      AppendChunkKey(fact, chunk, &key);
      visit(key, "string");
    }
  }
  if (ShowsLikes(listed)) {
    key.clear();
    AppendLikesKey({listed.etype, listed.eid}, &key);
    visit(key, listed.labels.first == kLabelFirstBits ? "string" : "set");
  }
}

// Pages through everything that a pattern can match.
class KeyWalk {
 public:
  KeyWalk(CommandContext* c, std::string_view pattern) : c_(c), pattern_(pattern) {
    const std::string prefix = GlobLiteralPrefix(pattern);
    std::optional<EntityKey> pinned = EntityPinnedBy(prefix);
    if (GlobIsLiteral(pattern)) {
      const KeyView view = ClassifyKey(pattern);
      if (view.face == Face::kLikes || view.face == Face::kChunk) pinned = view.entity();
      one_plain_ = view.face == Face::kPlain || view.face == Face::kLikes;
      no_walk_ = true;
    }
    if (pinned) {
      filter_.etype = std::string(pinned->etype);
      filter_.eid = std::string(pinned->eid);
    }
    filter_.with_chunks = true;
  }

  // Visits matching keys from the cursor on; returns the next cursor, 0 at the end.
  Result<uint64_t> Page(uint64_t cursor, size_t hint, const Visit& visit) {
    const Visit matching = [&](std::string_view key, std::string_view type) {
      if (GlobMatch(pattern_, key)) visit(key, type);
    };
    if (one_plain_) {
      const Result<PlainInfo> info = c_->engine().GetPlainInfo(pattern_, c_->ticket);
      if (!info) return Fail(info.error());
      const bool hidden = pattern_ == kReservedKey;
      if (info->type != PlainType::kNone && !hidden) {
        matching(pattern_, info->type == PlainType::kSet ? "set" : "string");
      }
    }
    if (no_walk_ && !filter_.eid) return 0;
    listed_.clear();
    Result<uint64_t> next = c_->engine().List(cursor, hint, filter_, &listed_);
    if (!next) return next;
    for (const Listed& listed : listed_) VisitKeys(listed, matching);
    return filter_.eid ? 0 : *next;
  }

 private:
  CommandContext* c_;
  std::string_view pattern_;
  ListFilter filter_;
  bool one_plain_ = false;  // the pattern is the name of one plain key, or of a shadowed face
  bool no_walk_ = false;    // the pattern is one name
  std::vector<Listed> listed_;
};

}  // namespace

Flow Keys(CommandContext& c) {
  if (c.args[1].size() > kPatternBytesMax) return c.Error(error::kPatternTooLong);
  KeyWalk walk(&c, c.args[1]);
  std::vector<std::string> keys;
  size_t bytes = 0;
  uint64_t cursor = 0;
  do {
    const Result<uint64_t> next =
        walk.Page(cursor, kWalkHint, [&](std::string_view key, std::string_view) {
          bytes += key.size() + 16;
          if (bytes <= kReplyBytesLimit) keys.emplace_back(key);
        });
    if (!next) return c.Fail(next.error());
    if (bytes > kReplyBytesLimit) return c.Error("ERR reply too large, use SCAN");
    cursor = *next;
  } while (cursor != 0 && !c.server.stopping());
  c.reply().Array(keys.size());
  for (const std::string& key : keys) c.writer.Bulk(key);
  return Flow::kNext;
}

Flow Scan(CommandContext& c) {
  const std::optional<uint64_t> cursor = ParseUint64(c.args[1]);
  if (!cursor) return c.Error(error::kInvalidCursor);
  size_t count = kScanCountDefault;
  std::string_view pattern = "*";
  std::optional<std::string_view> type;
  for (size_t i = 2; i < c.argc(); i += 2) {
    if (c.Is(i, "COUNT") && i + 1 < c.argc()) {
      const std::optional<int64_t> wanted = ParseInt64(c.args[i + 1]);
      if (!wanted) return c.Error(error::kNotInteger);
      if (*wanted < 1) return c.Error(error::kSyntax);
      count =
          static_cast<size_t>(std::min<uint64_t>(static_cast<uint64_t>(*wanted), kScanCountMax));
    } else if (c.Is(i, "MATCH") && i + 1 < c.argc()) {
      pattern = c.args[i + 1];
      if (pattern.size() > kPatternBytesMax) return c.Error(error::kPatternTooLong);
    } else if (c.Is(i, "TYPE") && i + 1 < c.argc()) {
      type = c.args[i + 1];
    } else {
      return c.Error(error::kSyntax);
    }
  }
  KeyWalk walk(&c, pattern);
  std::vector<std::string> keys;
  size_t bytes = 0;
  const Result<uint64_t> next =
      walk.Page(*cursor, count, [&](std::string_view key, std::string_view key_type) {
        if (type && !EqualsIgnoreCase(*type, key_type)) return;
        bytes += key.size() + 16;
        if (bytes <= kReplyBytesLimit) keys.emplace_back(key);
      });
  if (!next) return c.Fail(next.error());
  if (bytes > kReplyBytesLimit) return c.Error("ERR reply too large, use a smaller COUNT");
  ReplyWriter& out = c.reply();
  out.Array(2);
  out.BulkNumber(*next);
  out.Array(keys.size());
  for (const std::string& key : keys) out.Bulk(key);
  return Flow::kNext;
}

Flow DbSize(CommandContext& c) {
  ListFilter filter;
  filter.with_chunks = true;
  std::vector<Listed> listed;
  uint64_t keys = 0;
  uint64_t cursor = 0;
  do {
    listed.clear();
    const Result<uint64_t> next = c.engine().List(cursor, kWalkHint, filter, &listed);
    if (!next) return c.Fail(next.error());
    for (const Listed& entry : listed) {
      if (entry.etype.empty()) {
        keys += entry.eid == kReservedKey ? 0u : 1u;
      } else {
        keys += (ShowsChunks(entry) ? entry.chunks.size() : 0) + (ShowsLikes(entry) ? 1u : 0u);
      }
    }
    cursor = *next;
  } while (cursor != 0 && !c.server.stopping());
  c.reply().Unsigned(keys);
  return Flow::kNext;
}

}  // namespace tallystick::server
