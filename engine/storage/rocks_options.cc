#include "engine/storage/rocks_options.h"

#include "engine/base/assert.h"

#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>

#include <algorithm>

namespace tallystick {
namespace {

constexpr size_t kProtectionBytes = 8;
constexpr size_t kInfoLogBytesMax = 1u << 20;
constexpr size_t kInfoLogFiles = 4;
constexpr uint64_t kManifestBytesMax = 4u << 20;
constexpr double kBloomBitsPerKey = 10;
constexpr uint64_t kMiB = 1u << 20;

// What differs between the column families.
struct Tuning {
  uint64_t memtable_bytes;  // bounds how many records an opening must insert again; 0: no own limit
  uint64_t level_base_bytes;  // about four memtables
  uint64_t file_bytes;        // a file's index and filter are read whole
  size_t block_bytes;
  bool bloom;  // looked up by whole keys that are often absent
};

Tuning TuningOf(ColumnFamily cf) {
  switch (cf) {
    case ColumnFamily::kJournal:
      return {0, 128 * kMiB, 64 * kMiB, 8192, false};
    case ColumnFamily::kSnapshots:
      return {16 * kMiB, 64 * kMiB, 32 * kMiB, 8192, true};
    case ColumnFamily::kSets:
    case ColumnFamily::kCounts:
    case ColumnFamily::kKv:
      return {8 * kMiB, 32 * kMiB, 32 * kMiB, 4096, true};
    case ColumnFamily::kIds:
    case ColumnFamily::kTokens:
      return {4 * kMiB, 16 * kMiB, 32 * kMiB, 4096, true};
    case ColumnFamily::kMeta:
      return {1 * kMiB, 4 * kMiB, 8 * kMiB, 4096, false};
  }
  TALLY_ASSERT(false);
  return {};
}

// A memtable that fills up while the log is replayed makes RocksDB write files before it opens. The
// journal's is therefore switched by the limits of all together, never by one of its own.
uint64_t MemtableBytes(const Tuning& tuning, const RocksStoreOptions& options) {
  constexpr uint64_t kNeverFullDuringReplay = 4;
  if (tuning.memtable_bytes == 0) return kNeverFullDuringReplay * options.wal_bytes_max;
  return std::min(tuning.memtable_bytes, options.memtable_bytes_max);
}

}  // namespace

rocksdb::DBOptions MakeDbOptions(const RocksStoreOptions& options, Damage damage, rocksdb::Env* env,
                                 std::shared_ptr<rocksdb::EventListener> listener) {
  rocksdb::DBOptions db;
  db.env = env;
  db.create_if_missing = options.create_if_missing;
  db.create_missing_column_families = true;
  db.listeners.push_back(std::move(listener));

  // Which bytes survive, and what is believed on opening.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  db.track_and_verify_wals_in_manifest = false;
  db.manual_wal_flush = false;
  db.wal_bytes_per_sync = 0;
  db.recycle_log_file_num = 0;
  db.wal_compression = rocksdb::kNoCompression;
  db.atomic_flush = false;
  db.two_write_queues = false;
  db.unordered_write = false;
  db.enable_pipelined_write = false;
  db.best_efforts_recovery = false;
  db.paranoid_checks = damage == Damage::kRefuse;
  db.flush_verify_memtable_count = true;
  db.allow_mmap_reads = false;
  db.allow_mmap_writes = false;
  db.max_bgerror_resume_count = 0;

  // Opening is fast whatever the amount of data.
  db.avoid_flush_during_recovery = true;
  db.max_total_wal_size = options.wal_bytes_max;
  db.db_write_buffer_size = options.memtable_bytes_max;
  db.max_open_files = kOpenFilesAtStart;
  db.max_file_opening_threads = 1;  // else 15 threads are started per column family, for few files
  db.avoid_unnecessary_blocking_io =
      true;  // files that are not needed any more go in the background
  db.skip_stats_update_on_db_open = true;
  db.skip_checking_sst_file_sizes_on_db_open = true;
  db.max_manifest_file_size = kManifestBytesMax;

  // A guest in someone's process.
  db.max_background_jobs = options.background_jobs;
  db.max_subcompactions = 1;
  db.bytes_per_sync = kMiB;
  db.info_log_level = rocksdb::InfoLogLevel::INFO_LEVEL;
  db.max_log_file_size = kInfoLogBytesMax;
  db.keep_log_file_num = kInfoLogFiles;
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  return db;
}

rocksdb::ColumnFamilyOptions MakeColumnFamilyOptions(ColumnFamily cf,
                                                     const RocksStoreOptions& options,
                                                     Damage damage,
                                                     const std::shared_ptr<rocksdb::Cache>& cache) {
  const Tuning tuning = TuningOf(cf);
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = tuning.block_bytes;
  table.cache_index_and_filter_blocks = true;
  table.format_version = 5;
  table.checksum = rocksdb::kXXH3;
  // Index and filter in pieces of a block: a file's first look-up reads kilobytes, not all of them.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  if (tuning.bloom) {
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
    table.partition_filters = true;
  }

  rocksdb::ColumnFamilyOptions family;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  family.write_buffer_size = MemtableBytes(tuning, options);
  family.arena_block_size = std::min<size_t>(256u << 10, family.write_buffer_size / 8);
  family.max_write_buffer_number = 4;
  // It would stop at the damaged file again and again.
  family.disable_auto_compactions = damage == Damage::kServeAround;
  // The small log makes small files: by their number alone they must not hold writers up.
  family.level0_file_num_compaction_trigger = kLevel0Files;
  family.level0_slowdown_writes_trigger = kLevel0FilesSlow;
  family.level0_stop_writes_trigger = 12 * kLevel0Files;
  family.target_file_size_base = tuning.file_bytes;
  family.max_bytes_for_level_base = tuning.level_base_bytes;
  family.level_compaction_dynamic_level_bytes = true;
  family.compression = rocksdb::kLZ4Compression;
  family.force_consistency_checks = true;
  family.memtable_protection_bytes_per_key = kProtectionBytes;
  if (cf == ColumnFamily::kJournal) {
    // Each partition appends: an insert next to its last one needs no search, on recovery neither.
    family.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(2));
  }
  return family;
}

rocksdb::WriteOptions MakeWriteOptions() {
  rocksdb::WriteOptions options;
  options.sync = false;
  options.disableWAL = false;
  options.protection_bytes_per_key = kProtectionBytes;
  return options;
}

void AssertDbOptions(const rocksdb::DBOptions& actual, Damage damage) {
  TALLY_ASSERT(actual.wal_recovery_mode == rocksdb::WALRecoveryMode::kPointInTimeRecovery);
  TALLY_ASSERT(!actual.track_and_verify_wals_in_manifest);
  TALLY_ASSERT(!actual.manual_wal_flush);
  TALLY_ASSERT(actual.wal_bytes_per_sync == 0);
  TALLY_ASSERT(actual.recycle_log_file_num == 0);
  TALLY_ASSERT(actual.wal_compression == rocksdb::kNoCompression);
  TALLY_ASSERT(!actual.atomic_flush);
  TALLY_ASSERT(!actual.two_write_queues);
  TALLY_ASSERT(!actual.unordered_write);
  TALLY_ASSERT(!actual.enable_pipelined_write);
  TALLY_ASSERT(!actual.best_efforts_recovery);
  TALLY_ASSERT(actual.paranoid_checks == (damage == Damage::kRefuse));
  TALLY_ASSERT(actual.flush_verify_memtable_count);
  TALLY_ASSERT(!actual.allow_mmap_reads);
  TALLY_ASSERT(!actual.allow_mmap_writes);
  TALLY_ASSERT(actual.max_bgerror_resume_count == 0);
  TALLY_ASSERT(actual.avoid_flush_during_recovery);
  TALLY_ASSERT(actual.max_total_wal_size > 0);
  TALLY_ASSERT(actual.db_write_buffer_size > 0);
  TALLY_ASSERT(actual.max_open_files > 0);
}

void AssertColumnFamilyOptions(const rocksdb::ColumnFamilyOptions& actual) {
  TALLY_ASSERT(actual.force_consistency_checks);
  TALLY_ASSERT(!actual.inplace_update_support);
  TALLY_ASSERT(actual.memtable_protection_bytes_per_key == kProtectionBytes);
  TALLY_ASSERT(actual.merge_operator == nullptr);
}

}  // namespace tallystick
