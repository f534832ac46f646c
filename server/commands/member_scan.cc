#include "server/commands/member_scan.h"

#include <algorithm>

#include "server/resp/number.h"

namespace tallystick::server {

std::optional<uint64_t> ParseMemberCursor(std::string_view text) {
  const std::optional<uint64_t> cursor = ParseUint64(text);
  return cursor && *cursor <= kCursorMax ? cursor : std::nullopt;
}

namespace {

Result<uint64_t> ScanBlocks(CommandContext& c, const FactKey& key, uint64_t cursor, uint64_t count,
                            unsigned block_bits, std::vector<uint64_t>* uids) {
  const size_t block_uids = size_t{1} << block_bits;
  const size_t limit = static_cast<size_t>(std::min(count, kScanCountMax));
  auto next = c.engine().Scan(key, cursor << block_bits, limit, uids, c.ticket);
  if (!next) return Fail(next.error());
  if (!*next) return 0;
  // On to the end of the block in which the page stopped.
  const uint64_t block = uids->back() >> block_bits;
  if (**next >> block_bits == block) {
    next = c.engine().Scan(key, **next, block_uids, uids, c.ticket);
    if (!next) return Fail(next.error());
    const auto beyond = std::find_if(uids->begin(), uids->end(),
                                     [&](uint64_t uid) { return uid >> block_bits > block; });
    if (beyond != uids->end()) {
      const uint64_t first_beyond = *beyond;
      uids->erase(beyond, uids->end());
      return first_beyond >> block_bits;
    }
    if (!*next) return 0;
  }
  return **next >> block_bits;
}

}  // namespace

Result<uint64_t> ScanPage(CommandContext& c, const FactKey& key, uint64_t cursor, uint64_t count,
                          std::vector<uint64_t>* uids) {
  return ScanBlocks(c, key, cursor, count, kCursorBlockBits, uids);
}

Result<uint64_t> ScanPlainPage(CommandContext& c, const FactKey& key, uint64_t cursor,
                               uint64_t count, Members* members) {
  constexpr uint64_t kTexts = (kCursorMax >> 1) + 1;  // set: the rest is a position among texts
  constexpr unsigned kShift = kCursorBlockBits + 1;
  uint64_t position = 0;
  if (cursor < kTexts) {
    const Result<uint64_t> next = ScanBlocks(c, key, cursor, count, kShift, &members->uids);
    if (!next || *next != 0) return next;
    count -= std::min<uint64_t>(members->uids.size(), count - 1);  // a page of texts at least
  } else {
    position = (cursor - kTexts) << kShift;
  }
  const size_t limit = static_cast<size_t>(std::min(count, kScanCountMax));
  const auto next = c.engine().ScanTexts(key, position, limit, &members->texts, c.ticket);
  if (!next) return Fail(next.error());
  return *next ? kTexts + (**next >> kShift) : 0;
}

}  // namespace tallystick::server
