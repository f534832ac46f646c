#include "server/commands/member_scan.h"

#include <algorithm>

#include "server/resp/number.h"

namespace tallystick::server {

std::optional<uint64_t> ParseMemberCursor(std::string_view text) {
  const std::optional<uint64_t> cursor = ParseUint64(text);
  return cursor && *cursor <= kCursorMax ? cursor : std::nullopt;
}

Result<uint64_t> ScanPage(CommandContext& c, const FactKey& key, uint64_t cursor, uint64_t count,
                          std::vector<uint64_t>* uids) {
  constexpr size_t kBlock = size_t{1} << kCursorBlockBits;
  const size_t limit = static_cast<size_t>(std::min(count, kScanCountMax));
  auto next = c.engine().Scan(key, cursor << kCursorBlockBits, limit, uids, c.ticket);
  if (!next) return Fail(next.error());
  if (!*next) return 0;
  // On to the end of the block in which the page stopped.
  const uint64_t block = uids->back() >> kCursorBlockBits;
  if (**next >> kCursorBlockBits == block) {
    next = c.engine().Scan(key, **next, kBlock, uids, c.ticket);
    if (!next) return Fail(next.error());
    const auto beyond = std::find_if(uids->begin(), uids->end(), [block](uint64_t uid) {
      return uid >> kCursorBlockBits > block;
    });
    if (beyond != uids->end()) {
      const uint64_t first_beyond = *beyond;
      uids->erase(beyond, uids->end());
      return first_beyond >> kCursorBlockBits;
    }
    if (!*next) return 0;
  }
  return **next >> kCursorBlockBits;
}

}  // namespace tallystick::server
