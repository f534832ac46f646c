// What the process holds, by its allocator and by the operating system.
#pragma once

#include <cstdint>
#include <string_view>

namespace tallystick::server {

struct MemoryUse {
  uint64_t allocated_bytes = 0;  // by jemalloc's count; the resident bytes without it
  uint64_t resident_bytes = 0;
  std::string_view allocator;
};
MemoryUse ReadMemoryUse();

}  // namespace tallystick::server
