// Proves that the file system under the crash tests loses what a real machine may lose and nothing
// else: fsynced bytes and entries always survive, others meet each documented fate, calls fail when
// armed, a stopped process writes nothing, and a seed replays exactly.

#include "tests/support/fault_file_system.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

namespace tallystick {
namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

std::string Bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A fresh directory and file system, with short forms of the calls.
class Machine {
 public:
  Machine() : fs(std::make_unique<FaultFileSystem>(dir.path())) {}

  std::unique_ptr<rocksdb::FSWritableFile> Create(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    const IOStatus status = fs->NewWritableFile(dir / name, FileOptions(), &file, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return file;
  }
  std::unique_ptr<rocksdb::FSRandomRWFile> OpenRw(const std::string& name) {
    std::unique_ptr<rocksdb::FSRandomRWFile> file;
    const IOStatus status = fs->NewRandomRWFile(dir / name, FileOptions(), &file, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return file;
  }
  void SyncDir(const std::string& name = "") {
    std::unique_ptr<rocksdb::FSDirectory> handle;
    const std::string path = name.empty() ? dir.path() : dir / name;
    ASSERT_TRUE(fs->NewDirectory(path, IOOptions(), &handle, nullptr).ok());
    ASSERT_TRUE(handle->Fsync(IOOptions(), nullptr).ok());
  }
  // A file with fsynced bytes and a durable name.
  void CreateDurable(const std::string& name, const std::string& bytes) {
    const auto file = Create(name);
    ASSERT_TRUE(file->Append(bytes, IOOptions(), nullptr).ok());
    ASSERT_TRUE(file->Sync(IOOptions(), nullptr).ok());
    SyncDir();
  }

  TempDir dir;
  std::unique_ptr<FaultFileSystem> fs;
};

IOStatus Append(const std::unique_ptr<rocksdb::FSWritableFile>& file, const std::string& bytes) {
  return file->Append(bytes, IOOptions(), nullptr);
}
IOStatus Sync(const std::unique_ptr<rocksdb::FSWritableFile>& file) {
  return file->Sync(IOOptions(), nullptr);
}

TEST(FaultFileSystemTest, SyncedBytesSurviveEveryFate) {
  const std::string synced(5000, 's'), tail(9000, 't');
  for (const TailFate fate : {TailFate::kDropped, TailFate::kPrefix, TailFate::kPages,
                              TailFate::kZeros, TailFate::kFlippedBits}) {
    std::set<std::string> outcomes;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Machine machine;
      {
        const auto file = machine.Create("f");
        ASSERT_TRUE(Append(file, synced).ok());
        ASSERT_TRUE(Sync(file).ok());
        ASSERT_TRUE(Append(file, tail).ok());
      }
      machine.SyncDir();
      EXPECT_EQ(machine.fs->unsynced_bytes(), tail.size());
      machine.fs->PowerLoss(seed, fate);
      const std::string found = Bytes(machine.dir / "f");
      ASSERT_GE(found.size(), synced.size());
      ASSERT_LE(found.size(), synced.size() + tail.size());
      EXPECT_EQ(found.substr(0, synced.size()), synced);
      const std::string rest = found.substr(synced.size());
      if (fate == TailFate::kDropped) {
        EXPECT_EQ(rest, "");
      }
      if (fate == TailFate::kPrefix) {
        EXPECT_EQ(rest, std::string(rest.size(), 't'));
      }
      if (fate == TailFate::kZeros) {
        EXPECT_EQ(rest, std::string(tail.size(), '\0'));
      }
      EXPECT_EQ(machine.fs->unsynced_bytes(), 0u);
      outcomes.insert(found);
    }
    const bool varies = fate != TailFate::kDropped && fate != TailFate::kZeros;
    EXPECT_EQ(outcomes.size() > 4, varies) << static_cast<int>(fate);
  }
}

TEST(FaultFileSystemTest, SameSeedSameFiles) {
  const auto run = [](uint64_t seed) {
    Machine machine;
    for (const char* name : {"a", "b", "c"}) {
      EXPECT_TRUE(Append(machine.Create(name), std::string(20000, name[0])).ok());
    }
    machine.fs->PowerLoss(seed);
    std::string image;
    for (const char* name : {"a", "b", "c"}) image += Bytes(machine.dir / name) + "|";
    return image;
  };
  for (uint64_t seed = 0; seed < 10; ++seed) EXPECT_EQ(run(seed), run(seed));
  EXPECT_NE(run(1), run(2));
}

// What `prepare` leaves durable, `change` changes without directory fsync; names found over many
// seeds.
std::set<std::set<std::string>> NamesAfter(const std::function<void(Machine*)>& prepare,
                                           const std::function<void(Machine*)>& change) {
  std::set<std::set<std::string>> found;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Machine machine;
    prepare(&machine);
    change(&machine);
    machine.fs->PowerLoss(seed);
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(machine.dir.path())) {
      names.insert(entry.path().filename().string() + "=" +
                   (entry.is_directory() ? "" : Bytes(entry.path())));
    }
    found.insert(names);
  }
  return found;
}

TEST(FaultFileSystemTest, UnsyncedEntriesMayBeUndone) {
  using Names = std::set<std::set<std::string>>;
  const auto create = [](Machine* m) {
    const auto file = m->Create("new");
    ASSERT_TRUE(Append(file, "n").ok());
    ASSERT_TRUE(Sync(file).ok());
  };
  const auto nothing = [](Machine*) {};
  const auto old = [](Machine* m) { m->CreateDurable("old", "o"); };
  EXPECT_EQ(NamesAfter(nothing, create), (Names{{}, {"new=n"}}));
  EXPECT_EQ(NamesAfter(old,
                       [](Machine* m) {
                         ASSERT_TRUE(m->fs->DeleteFile(m->dir / "old", IOOptions(), nullptr).ok());
                       }),
            (Names{{}, {"old=o"}}));
  EXPECT_EQ(
      NamesAfter(old,
                 [](Machine* m) {
                   ASSERT_TRUE(
                       m->fs->RenameFile(m->dir / "old", m->dir / "to", IOOptions(), nullptr).ok());
                 }),
      (Names{{"old=o"}, {"to=o"}}));
  // Created, then renamed over an old file: a prefix of the two, never a file that is nowhere.
  EXPECT_EQ(NamesAfter(
                old,
                [&](Machine* m) {
                  create(m);
                  ASSERT_TRUE(
                      m->fs->RenameFile(m->dir / "new", m->dir / "old", IOOptions(), nullptr).ok());
                }),
            (Names{{"old=o"}, {"new=n", "old=o"}, {"old=n"}}));
  // Created anew over an old file of the name.
  EXPECT_EQ(NamesAfter(old, [](Machine* m) { ASSERT_TRUE(Sync(m->Create("old")).ok()); }),
            (Names{{"old=o"}, {"old="}}));
  EXPECT_EQ(NamesAfter(nothing,
                       [](Machine* m) {
                         ASSERT_TRUE(m->fs->CreateDir(m->dir / "d", IOOptions(), nullptr).ok());
                       }),
            (Names{{}, {"d="}}));
  EXPECT_EQ(NamesAfter(nothing, [&](Machine* m) { create(m), m->SyncDir(); }), (Names{{"new=n"}}));
}

TEST(FaultFileSystemTest, OverwrittenPagesTearButSyncedOnesDoNot) {
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Machine machine;
    machine.CreateDurable("f", std::string(12288, 'o'));
    {
      const auto file = machine.OpenRw("f");
      ASSERT_TRUE(file->Write(0, std::string(4096, 's'), IOOptions(), nullptr).ok());
      ASSERT_TRUE(file->Sync(IOOptions(), nullptr).ok());
      ASSERT_TRUE(file->Write(4096, std::string(4096, '1'), IOOptions(), nullptr).ok());
      ASSERT_TRUE(file->Write(4096, std::string(4096, '2'), IOOptions(), nullptr).ok());
    }
    machine.fs->PowerLoss(seed);
    const std::string found = Bytes(machine.dir / "f");
    ASSERT_EQ(found.size(), 12288u);
    EXPECT_EQ(found.substr(0, 4096), std::string(4096, 's'));
    EXPECT_EQ(found.substr(8192), std::string(4096, 'o'));
    EXPECT_EQ(found.substr(4096, 4096).find_first_not_of("o12"), std::string::npos);
    outcomes.insert(found);
  }
  EXPECT_GT(outcomes.size(), 5u);
}

TEST(FaultFileSystemTest, StoppedProcessWritesNothingAndItsBytesStayUnsynced) {
  Machine machine;
  auto file = machine.Create("f");
  ASSERT_TRUE(Append(file, "before").ok());
  machine.SyncDir();
  machine.fs->Stop();
  EXPECT_FALSE(Append(file, "after").ok());
  EXPECT_FALSE(Sync(file).ok());
  EXPECT_FALSE(machine.fs->DeleteFile(machine.dir / "f", IOOptions(), nullptr).ok());
  std::unique_ptr<rocksdb::FSWritableFile> other;
  EXPECT_FALSE(machine.fs->NewWritableFile(machine.dir / "g", FileOptions(), &other, nullptr).ok());
  machine.fs->Restart();
  EXPECT_FALSE(Append(file, "of the old process").ok());
  file.reset();
  EXPECT_EQ(Bytes(machine.dir / "f"), "before");
  EXPECT_EQ(machine.fs->unsynced_bytes(), 6u);
  machine.fs->PowerLoss(0, TailFate::kDropped);
  EXPECT_EQ(Bytes(machine.dir / "f"), "");
}

TEST(FaultFileSystemTest, NthCallFailsOnceOrForEver) {
  Machine machine;
  const auto file = machine.Create("f.log");
  machine.fs->Arm({.call = FaultCall::kAppend, .nth = 2, .path_contains = ".log"});
  EXPECT_TRUE(Append(file, "ab").ok());
  EXPECT_TRUE(Append(machine.Create("other"), "ab").ok());
  EXPECT_TRUE(Append(file, "cd").IsIOError());
  EXPECT_EQ(Bytes(machine.dir / "f.log"), "abc");  // half of it was written
  EXPECT_TRUE(Append(file, "ef").ok());
  machine.fs->Arm(
      {.call = FaultCall::kAppend, .nth = 1, .forever = true, .error = FaultError::kNoSpace});
  EXPECT_TRUE(Append(file, "gh").IsNoSpace());
  EXPECT_TRUE(Append(file, "ij").IsNoSpace());
  EXPECT_EQ(machine.fs->fired(), 3u);
  machine.fs->ClearFaults();
  EXPECT_TRUE(Append(file, "kl").ok());
  EXPECT_EQ(machine.fs->calls(FaultCall::kAppend), 7u);

  machine.fs->Arm({.call = FaultCall::kOpen});
  std::unique_ptr<rocksdb::FSSequentialFile> reader;
  EXPECT_FALSE(
      machine.fs->NewSequentialFile(machine.dir / "f.log", FileOptions(), &reader, nullptr).ok());
  machine.fs->Arm({.call = FaultCall::kRename});
  EXPECT_FALSE(
      machine.fs->RenameFile(machine.dir / "f.log", machine.dir / "g.log", IOOptions(), nullptr)
          .ok());
  ASSERT_TRUE(
      machine.fs->NewSequentialFile(machine.dir / "f.log", FileOptions(), &reader, nullptr).ok());
  machine.fs->Arm({.call = FaultCall::kRead});
  rocksdb::Slice bytes;
  char scratch[8];
  EXPECT_FALSE(reader->Read(2, IOOptions(), &bytes, scratch, nullptr).ok());
  EXPECT_TRUE(reader->Read(2, IOOptions(), &bytes, scratch, nullptr).ok());
}

TEST(FaultFileSystemTest, FullDiskCutsTheWriteThatDoesNotFit) {
  Machine machine;
  const auto file = machine.Create("f");
  machine.fs->SetQuota(5);
  EXPECT_TRUE(Append(file, "abc").ok());
  EXPECT_TRUE(Append(file, "def").IsNoSpace());
  EXPECT_TRUE(Append(file, "g").IsNoSpace());
  EXPECT_EQ(Bytes(machine.dir / "f"), "abcde");
}

TEST(FaultFileSystemTest, BytesOfAFailedSyncAreShownButNeverOnDisk) {
  for (const bool reaches : {false, true}) {
    Machine machine;
    {
      const auto file = machine.Create("f");
      ASSERT_TRUE(Append(file, "abc").ok());
      machine.fs->SetFailedSyncReachesDisk(reaches);
      machine.fs->Arm({.call = FaultCall::kSync});
      EXPECT_FALSE(Sync(file).ok());
      ASSERT_TRUE(Append(file, "def").ok());
      EXPECT_TRUE(Sync(file).ok());  // the retried fsync that lies
      EXPECT_EQ(Bytes(machine.dir / "f"), "abcdef");
    }
    machine.SyncDir();
    machine.fs->PowerLoss(1);
    EXPECT_EQ(Bytes(machine.dir / "f"), reaches ? "abcdef" : std::string("\0\0\0def", 6));
  }
}

}  // namespace
}  // namespace tallystick
