// The RocksDB settings, in one place. Why each is as it is: docs/design/0002-rocksdb-settings.md.
#pragma once

#include "engine/storage/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/options.h>

#include <memory>

namespace rocksdb {
class DB;
class EventListener;
}  // namespace rocksdb

namespace tallystick {

// How much must be well for the database to open. kServeAround opens in spite of damaged table
// files, whose content then is an error to whoever asks for it, and does not compact.
enum class Damage { kRefuse, kServeAround };

// A quarter of them, and at most 16, are opened when the database is.
constexpr int kOpenFilesAtStart = 20;  // the least that RocksDB allows
constexpr int kOpenFilesMax = 512;     // from the first Store::Tend on

// Of level 0 of a column family: compacted, and, since compaction falls behind, slowing writers.
constexpr int kLevel0Files = 8;
constexpr int kLevel0FilesSlow = 6 * kLevel0Files;

// `env`, `info_log` and `listener` must outlive the database that is opened with the result.
rocksdb::DBOptions MakeDbOptions(const RocksStoreOptions& options, Damage damage, rocksdb::Env* env,
                                 std::shared_ptr<rocksdb::EventListener> listener);
rocksdb::ColumnFamilyOptions MakeColumnFamilyOptions(ColumnFamily cf,
                                                     const RocksStoreOptions& options,
                                                     Damage damage,
                                                     const std::shared_ptr<rocksdb::Cache>& cache);
rocksdb::WriteOptions MakeWriteOptions();

// Stops the process unless an open database has the settings that the promises rest on: RocksDB
// corrects options silently, and a promise must not hang on a default.
void AssertDbOptions(const rocksdb::DBOptions& actual, Damage damage);
void AssertColumnFamilyOptions(const rocksdb::ColumnFamilyOptions& actual);

}  // namespace tallystick
