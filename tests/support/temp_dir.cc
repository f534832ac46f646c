#include "tests/support/temp_dir.h"

#include "engine/base/assert.h"

#include <stdlib.h>

#include <cstdio>

namespace tallystick {

TempDir::TempDir() {
  const char* base = ::getenv("TEST_TMPDIR");
  std::string pattern = base != nullptr ? base : std::filesystem::temp_directory_path().string();
  pattern += "/tallystick-test-XXXXXX";
  TALLY_ASSERT(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TempDir::~TempDir() {
  if (keep_) {
    std::fprintf(stderr, "kept for inspection: %s\n", path_.c_str());
    return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tallystick
