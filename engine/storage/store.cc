#include "engine/storage/store.h"

#include "engine/base/assert.h"

namespace tallystick {

std::string_view ColumnFamilyName(ColumnFamily cf) {
  switch (cf) {
    case ColumnFamily::kMeta:
      return "meta";
    case ColumnFamily::kSets:
      return "sets";
    case ColumnFamily::kSnapshots:
      return "snapshots";
    case ColumnFamily::kCounts:
      return "counts";
    case ColumnFamily::kJournal:
      return "journal";
    case ColumnFamily::kKv:
      return "kv";
    case ColumnFamily::kIds:
      return "ids";
    case ColumnFamily::kTokens:
      return "tokens";
  }
  TALLY_ASSERT(false);
  return "";
}

}  // namespace tallystick
