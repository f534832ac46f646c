// A directory of its own for one test, removed with all it holds when the test ends.
#pragma once

#include <filesystem>
#include <string>

namespace tallystick {

class TempDir {
 public:
  TempDir();  // under TEST_TMPDIR, TMPDIR or /tmp; stops the process when it cannot be made
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // Leaves the directory when the test ends, and says where it is: a failed test's evidence.
  void Keep() { keep_ = true; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  bool keep_ = false;
};

}  // namespace tallystick
