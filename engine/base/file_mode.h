// Permissions, which RocksDB's FileSystem cannot set.
#pragma once

#include <string>

namespace tallystick {

// Makes the directory accessible to its owner only (0700). Returns 0 or the errno of the failure.
int RestrictToOwner(const std::string& dir);

}  // namespace tallystick
