// UnsyncedDisk: which bytes and directory entries of a directory tree would be gone after a power
// loss.
//
// The real files hold what a running machine shows (the page cache). Beside them this keeps, for
// each file, how many bytes were fsynced, and for each directory the changes since its last fsync.
// PowerLoss turns the real files into what a machine would find after switching on again. Files
// that are deleted or replaced are kept aside until their directory is fsynced, because a power
// loss may bring them back.
//
// Not thread-safe. Paths are given as they are: one spelling for each file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <vector>

namespace tallystick {

// What becomes of appended bytes that were never fsynced.
enum class TailFate : uint8_t {
  kDropped,      // none is there
  kPrefix,       // a prefix, cut at any byte
  kPages,        // any subset of the 4 KiB pages, zeros where one is missing
  kZeros,        // the full length, all zeros
  kFlippedBits,  // a prefix with up to three inverted bits
};

class UnsyncedDisk {
 public:
  struct Overwrite {
    uint64_t offset;
    std::string bytes;
    std::string old_bytes;  // shorter at the end of the file
    uint64_t old_file_bytes;
  };
  struct Range {
    uint64_t begin, end;
  };
  // One inode: it keeps its state under any name, deleted or not.
  struct File {
    uint64_t bytes = 0;
    uint64_t durable_bytes = 0;
    std::vector<Overwrite> overwrites;  // since the last fsync, in order
    std::vector<Range> vanished;  // of a failed fsync: shown until power is lost, never on disk
  };

  explicit UnsyncedDisk(const std::string& base_dir);
  ~UnsyncedDisk();
  UnsyncedDisk(const UnsyncedDisk&) = delete;
  UnsyncedDisk& operator=(const UnsyncedDisk&) = delete;

  bool Covers(const std::string& path) const;

  // The state of an existing file; one that was not seen before is durable as it is.
  std::shared_ptr<File> Open(const std::string& path);
  // To be called before the real file is created; sets aside what it replaces.
  std::shared_ptr<File> Create(const std::string& path);
  std::error_code Delete(const std::string& path);
  std::error_code Rename(const std::string& from, const std::string& to);
  std::error_code Link(const std::string& from, const std::string& to);
  void MadeDirectory(const std::string& path);

  void Sync(File* file) const;
  // The kernel reports the failure once, drops the dirty marks and goes on.
  void FailSync(File* file) const;
  void SyncDirectory(const std::string& dir);

  // Each file and each group of dependent entries draws its own fate; `fate` forces that of all
  // tails. The same seed on the same state gives the same files.
  void PowerLoss(uint64_t seed, const TailFate* fate = nullptr);

  // Bytes that would be at risk now.
  uint64_t unsynced_bytes() const;

 private:
  struct Change {
    enum class Kind : uint8_t { kCreate, kDelete, kRename, kMakeDirectory } kind;
    std::string path;
    std::string target;  // of a rename
    std::string saved;   // where the replaced or deleted file is kept; empty: there was none
  };

  std::string SetAside(const std::string& path);
  void Move(const std::string& from, const std::string& to);
  void Undo(const Change& change);
  void UndoSomeChanges(std::mt19937_64* random);

  const std::string base_dir_;
  const std::string aside_dir_;
  uint64_t set_aside_ = 0;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::vector<Change> changes_;
};

}  // namespace tallystick
