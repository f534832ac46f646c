// What power loss does to the bytes of one file.
#pragma once

#include "tests/support/unsynced_disk.h"

#include <random>
#include <string>

namespace tallystick {

// Rewrites the real file at `path`. fsynced bytes stay; of the others any allowed fate is drawn
// (the weights are 30 % dropped, 30 % prefix, 20 % pages, 10 % zeros, 10 % flipped bits), or
// `fate`.
void TearFile(const std::string& path, const UnsyncedDisk::File& file, std::mt19937_64* random,
              const TailFate* fate);

}  // namespace tallystick
