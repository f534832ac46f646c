// Store on RocksDB 7.8. With key_codec the only place that knows RocksDB. The settings that the
// promises rest on are fixed here and asserted after opening (see docs/design for why each).
#pragma once

#include "engine/base/log.h"
#include "engine/storage/store.h"

#include <memory>
#include <string>

namespace rocksdb {
class FileSystem;
}

namespace tallystick {

struct RocksStoreOptions {
  std::string dir;  // RocksDB's own directory (DIR/rocksdb)
  bool create_if_missing = true;
  std::shared_ptr<rocksdb::FileSystem> fs;  // null: the real one
  uint64_t block_cache_bytes = 64u << 20;
  uint64_t memtable_bytes_max = 64u << 20;  // all column families together
  uint64_t wal_bytes_max = 2u << 20;        // bounds what an open must read
  int background_jobs = 2;
};

// Opens with what the log files prove (point in time); whether that is all that had been durable,
// only the watermark can tell. What is found is durable when the call returns, also what an earlier
// process had written without fsync. Errors: kIoError, kCorruption, kLocked, kInvalidArgument
// (missing and not to be created), kUnsupportedFormat (written by a newer version).
Result<std::unique_ptr<Store>> OpenRocksStore(const RocksStoreOptions& options, const Log& log);

}  // namespace tallystick
