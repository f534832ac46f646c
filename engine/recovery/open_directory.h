// Opening a data directory: the lock, the store, what was fixed at creation, and the comparison of
// the durable watermark with what the store recovered.
#pragma once

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/random.h"
#include "engine/counts/id_dictionary.h"
#include "engine/counts/schema.h"
#include "engine/storage/directory.h"
#include "engine/storage/meta.h"
#include "engine/storage/store.h"
#include "engine/storage/watermark.h"

#include <tallystick/options.h>

#include <memory>
#include <vector>

namespace rocksdb {
class FileSystem;
}

namespace tallystick {

struct OpenedDirectory {
  std::unique_ptr<DirectoryLock> lock;
  std::unique_ptr<Store> store;
  std::unique_ptr<Watermark> watermark;
  uint64_t watermark_serial = 0;
  DatabaseRecord database;
  std::unique_ptr<Schema> schema;
  std::unique_ptr<IdDictionaries> ids;
  uint64_t epoch = 0;
  std::vector<CheckpointRecord> checkpoints;  // by partition
  std::vector<uint64_t> journal_ends;         // by partition: where the next event goes
  bool loss_accepted = false;                 // journal has vanished and the options say: go on
  std::vector<Status> journal_damage;         // by partition: not OK when its end cannot be read
};

// On success everything that was recovered is fsynced, so that nothing served can be lost again.
// Errors: see Engine::Open. Work: one look at each partition's end, none at the data.
Result<OpenedDirectory> OpenDirectory(const Options& options, Clock* clock, Random* random,
                                      std::shared_ptr<rocksdb::FileSystem> fs, const Log& log);

}  // namespace tallystick
