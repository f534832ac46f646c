// Cursors over the members of a fact set, for SSCAN and FACT.SCAN.
//
// A cursor must fit 53 bits (clients keep it in doubles), a uid has 64. So a page always ends at a
// multiple of 2048 uids and the cursor is the number of the next block of 2048: position
// independent of what is added or removed meanwhile, and every member that stays is seen exactly
// once.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "server/commands/command.h"

namespace tallystick::server {

inline constexpr unsigned kCursorBlockBits = 11;
inline constexpr uint64_t kCursorMax = UINT64_MAX >> kCursorBlockBits;
inline constexpr uint64_t kScanCountDefault = 10;
inline constexpr uint64_t kScanCountMax = 1u << 20;

// nullopt: not a cursor ("ERR invalid cursor").
std::optional<uint64_t> ParseMemberCursor(std::string_view text);

// Appends at least `count` members from the cursor on (fewer at the end, at most 2047 more) and
// returns the next cursor, 0 at the end.
Result<uint64_t> ScanPage(CommandContext& c, const FactKey& key, uint64_t cursor, uint64_t count,
                          std::vector<uint64_t>* uids);

// The same for a plain set, whose texts come behind its uids. A cursor needs a bit to say which of
// both it is about, so here blocks are of 4096 uids.
Result<uint64_t> ScanPlainPage(CommandContext& c, const FactKey& key, uint64_t cursor,
                               uint64_t count, Members* members);

}  // namespace tallystick::server
