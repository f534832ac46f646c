// Proves that a data directory is made with its parents and closed to others, is held by one holder
// at a time (a second process is a real fork), and that what cannot be done is said with path and
// cause.

#include "engine/storage/directory.h"

#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace tallystick {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

// What a second process gets, as the exit code of a fork.
int LockInChild(const std::string& dir) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = LockDirectory(nullptr, dir, true);
    ::_exit(lock ? 0 : static_cast<int>(lock.error().code()));
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DirectoryTest, MakesDirectoryWithParentsForItsOwnerOnly) {
  TempDir base;
  const std::string dir = base / "a/b/c";
  const auto lock = LockDirectory(nullptr, dir, true);
  ASSERT_TRUE(lock) << lock.error().ToString();
  EXPECT_EQ(ModeOf(dir), 0700u);
  EXPECT_EQ(ModeOf(base / "a"), 0700u);
}

TEST(DirectoryTest, ExistingDirectoryKeepsItsMode) {
  TempDir base;
  const std::string dir = base / "d";
  ASSERT_EQ(::mkdir(dir.c_str(), 0750), 0);
  ASSERT_TRUE(LockDirectory(nullptr, dir, true));
  EXPECT_EQ(ModeOf(dir), 0750u);
}

TEST(DirectoryTest, MissingAndNotToBeCreated) {
  TempDir base;
  const auto lock = LockDirectory(nullptr, base / "d", false);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(lock.error().message().find(base / "d"), std::string_view::npos);
  EXPECT_EQ(LockDirectory(nullptr, "", true).error().code(), StatusCode::kInvalidArgument);
}

TEST(DirectoryTest, FileInItsPlace) {
  TempDir base;
  std::ofstream(base / "f") << "x";
  const auto lock = LockDirectory(nullptr, base / "f", true);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code(), StatusCode::kInvalidArgument) << lock.error().ToString();
  const auto below = LockDirectory(nullptr, base / "f/d", true);
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code(), StatusCode::kIoError) << below.error().ToString();
}

TEST(DirectoryTest, OneHolderAtATime) {
  TempDir base;
  auto lock = LockDirectory(nullptr, base / "d", true);
  ASSERT_TRUE(lock);
  const auto again = LockDirectory(nullptr, base / "d", true);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), StatusCode::kLocked) << again.error().ToString();
  EXPECT_EQ(LockInChild(base / "d"), static_cast<int>(StatusCode::kLocked));
  lock->reset();
  EXPECT_EQ(LockInChild(base / "d"), 0);
  EXPECT_TRUE(LockDirectory(nullptr, base / "d", true));
}

// Checked in a child that is not root: root may write everywhere.
TEST(DirectoryTest, NoPermissionIsAnIoErrorWithPath) {
  TempDir base;
  ASSERT_EQ(::chmod(base.path().c_str(), 0755), 0);
  const std::string dir = base / "d";
  ASSERT_EQ(::mkdir(dir.c_str(), 0555), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(1);
    for (const std::string& path : {dir, dir + "/e"}) {
      const auto lock = LockDirectory(nullptr, path, true);
      if (lock) ::_exit(2);
      if (lock.error().code() != StatusCode::kIoError) ::_exit(3);
      if (lock.error().message().find(path) == std::string_view::npos) ::_exit(4);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(DirectoryTest, ReadOnlyFileSystemIsAnIoErrorWithPath) {
  // /proc takes no new files, whoever asks.
  const auto lock = LockDirectory(nullptr, "/proc/tallystick", true);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code(), StatusCode::kIoError) << lock.error().ToString();
  EXPECT_NE(lock.error().message().find("/proc/tallystick"), std::string_view::npos);
  const auto existing = LockDirectory(nullptr, "/proc/self", true);
  ASSERT_FALSE(existing);
  EXPECT_EQ(existing.error().code(), StatusCode::kIoError) << existing.error().ToString();
}

}  // namespace
}  // namespace tallystick
