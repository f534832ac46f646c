#include "server/memory_use.h"

#include <unistd.h>

#include <fstream>

// Present when the program is linked with jemalloc; null otherwise.
extern "C" int mallctl(const char* name, void* old_value, size_t* old_size, void* new_value,
                       size_t new_size) __attribute__((weak));

namespace tallystick::server {

MemoryUse ReadMemoryUse() {
  MemoryUse use;
  uint64_t total_pages = 0;
  uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  use.resident_bytes = resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  use.allocated_bytes = use.resident_bytes;
  use.allocator = "libc";
  if (mallctl == nullptr) return use;
  uint64_t epoch = 1;  // writing it refreshes jemalloc's statistics
  size_t epoch_size = sizeof(epoch);
  size_t allocated = 0;
  size_t allocated_size = sizeof(allocated);
  if (mallctl("epoch", &epoch, &epoch_size, &epoch, epoch_size) == 0 &&
      mallctl("stats.allocated", &allocated, &allocated_size, nullptr, 0) == 0) {
    use.allocated_bytes = allocated;
    use.allocator = "jemalloc";
  }
  return use;
}

}  // namespace tallystick::server
