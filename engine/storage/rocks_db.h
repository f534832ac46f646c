// RocksDb: owns an open RocksDB with everything that it leans on, and ends them in the one order
// that does not stop the process: column family handles, database, cache and listener, Env, file
// system.
#pragma once

#include "engine/base/log.h"
#include "engine/storage/compaction_gate.h"
#include "engine/storage/rocks_options.h"
#include "engine/storage/rocks_store.h"
#include "engine/storage/wal_file_system.h"
#include "engine/storage/write_gate.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tallystick {

class RocksDb {
 public:
  // Errors as OpenRocksStore. What an earlier process had written without fsync is durable
  // afterwards.
  static Result<std::unique_ptr<RocksDb>> Open(const RocksStoreOptions& options, const Log& log);
  ~RocksDb();
  RocksDb(const RocksDb&) = delete;
  RocksDb& operator=(const RocksDb&) = delete;

  // As Store::Tend: looks into every table file, then lets compaction go. With a damaged file
  // compaction is over, for its first error would end all writing.
  bool Tend();

  rocksdb::DB* db() const { return db_.get(); }
  rocksdb::ColumnFamilyHandle* handle(ColumnFamily cf) const {
    return handles_[static_cast<size_t>(cf)];
  }
  const std::array<rocksdb::ColumnFamilyHandle*, kColumnFamilies>& handles() const {
    return handles_;
  }
  WriteGate& gate() { return *gate_; }
  WalFileSystem* fs() const { return fs_.get(); }
  const rocksdb::Cache& cache() const { return *cache_; }
  const std::string& dir() const { return dir_; }

 private:
  RocksDb(const RocksStoreOptions& options, const Log& log);
  Status OpenDatabase(const RocksStoreOptions& options, Damage damage, const Log& log);
  void CloseDatabase();
  // Damaged table files are served around, missing ones are not.
  Status OpenAroundDamage(const RocksStoreOptions& options, const Status& damage, const Log& log);
  bool SlowsWritersSoon() const;  // by the number of its files
  void LookInto(const std::string& table_file);
  void Change(rocksdb::ColumnFamilyHandle* family, const char* option, const std::string& value);

  // What Tend has done.
  bool listed_files_ = false;
  std::vector<std::string> unseen_files_;
  bool ended_compaction_ = false;
  bool opened_many_files_ = false;

  // Destroyed from the last to the first.
  const std::string dir_;
  const Log log_;
  const std::shared_ptr<WalFileSystem> fs_;
  const std::shared_ptr<CompactionGate> env_;
  const std::shared_ptr<WriteGate> gate_;
  const std::shared_ptr<rocksdb::Cache> cache_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* default_handle_ = nullptr;
  std::array<rocksdb::ColumnFamilyHandle*, kColumnFamilies> handles_{};
};

}  // namespace tallystick
