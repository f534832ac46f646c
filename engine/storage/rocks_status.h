// The one place where RocksDB's statuses become ours.
#pragma once

#include <tallystick/status.h>

#include <rocksdb/status.h>

#include <string_view>

namespace tallystick {

// `what` names the call and its object ("read of column family counts", "open of /data/rocksdb").
//
//   damaged bytes, or a file that RocksDB knows and the disk no longer has -> kCorruption
//   the lock of the directory is held                                      -> kLocked
//   the operating system failed a call, no space                           -> kIoError
//   bytes of a newer RocksDB                                               -> kUnsupportedFormat
//   misuse that depends on the caller's input                              -> kInvalidArgument
Status TranslateStatus(const rocksdb::Status& status, std::string_view what);

// FileSystem::LockFile fails in the same way for "held by someone" and "cannot be created"; only
// its words differ.
bool IsLockHeld(const rocksdb::Status& status);

}  // namespace tallystick
