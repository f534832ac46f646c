// The durable watermark: how far fsync has succeeded, kept outside RocksDB.
//
// RocksDB alone cannot tell a tail that was never synced from synced journal that has vanished: it
// opens with what it finds. So after every successful group fsync we write, per partition, the
// offset below which the journal is on disk; opening compares that with what RocksDB recovered and
// refuses when journal is missing. The file has two checksummed 4 KiB-aligned slots that alternate,
// so a torn write leaves the older one. Layout in docs/formats/watermark.md.
//
// Thread-safety: one writer at a time (the durability task, then Close).
#pragma once

#include <tallystick/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rocksdb {
class FileSystem;
}

namespace tallystick {

struct WatermarkState {
  uint64_t database_id_high = 0, database_id_low = 0;
  uint64_t epoch = 0;
  uint64_t serial = 0;  // counts the writes; set by Write, whatever the caller passes
  std::vector<uint64_t> durable_offsets;  // per partition: journal before it is fsynced
};

class Watermark {
 public:
  // Opens DIR/WATERMARK, or creates it (and fsyncs the directory) when missing. *found says whether
  // a valid slot was read; *state is then the newest. A file with no valid slot is kCorruption.
  static Result<std::unique_ptr<Watermark>> Open(std::shared_ptr<rocksdb::FileSystem> fs,
                                                 const std::string& dir, bool* found,
                                                 WatermarkState* state);
  virtual ~Watermark() = default;
  // Only after the offsets are really durable. `sync` also fsyncs the slot.
  virtual Status Write(const WatermarkState& state, bool sync) = 0;
};

}  // namespace tallystick
