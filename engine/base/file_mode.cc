#include "engine/base/file_mode.h"

#include <sys/stat.h>

#include <cerrno>

namespace tallystick {

int RestrictToOwner(const std::string& dir) {
  return ::chmod(dir.c_str(), 0700) == 0 ? 0 : errno;
}

}  // namespace tallystick
