// The longest single call while one fact set grows from nothing to many members and shrinks to
// nothing again, in another order.
//
// usage: growth_bench [MEMBERS [RUNS]]        (10 million, 3)
//
// Each call's time is the least of RUNS identical runs, in CPU time of the thread: what remains is
// the call's own work and what the allocator does at the same place each time. The clock's own
// cost, some hundred nanoseconds, is in each figure. "forms at the top" are the containers of the
// full set, and whether some members are in none.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "engine/facts/fact_set.h"

namespace tallystick {
namespace {

struct Shape {
  const char* name;
  uint64_t ids_per_member;  // 0: snowflakes
  bool ascending;
};

constexpr Shape kShapes[] = {
    {"snowflakes", 0, false},
    {"1 of 1,000 ids (sparse)", 1000, false},
    {"1 of 100 ids (arrays)", 100, false},
    {"1 of 2 ids (dense)", 2, false},
    {"all ids, ascending (roaring)", 1, true},
};

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

std::vector<uint64_t> Members(const Shape& shape, size_t n) {
  std::vector<uint64_t> uids(n);
  if (shape.ascending) {
    std::iota(uids.begin(), uids.end(), uint64_t{0});
    return uids;
  }
  std::mt19937_64 random(42);
  for (uint64_t& uid : uids) {
    uid = shape.ids_per_member == 0
              ? (uint64_t{1} << 60) + ((random() % 94'608'000'000) << 22) + random() % 4'194'304
              : random() % (shape.ids_per_member * n);
  }
  return uids;
}

void Print(const char* call, std::vector<uint32_t>* times) {
  std::sort(times->begin(), times->end());
  const auto at = [times](double part) {
    const auto index = static_cast<size_t>(part * static_cast<double>(times->size() - 1));
    return static_cast<double>((*times)[index]) / 1000;
  };
  std::printf("  %-7s p50 %6.2f  p99 %6.2f  p99.99 %6.2f  longest %8.2f us\n", call, at(0.5),
              at(0.99), at(0.9999), at(1));
}

void Measure(const Shape& shape, size_t n, int runs) {
  const std::vector<uint64_t> uids = Members(shape, n);
  std::vector<uint64_t> removals = uids;
  std::shuffle(removals.begin(), removals.end(), std::mt19937_64(43));
  std::vector<uint32_t> add_ns(n, UINT32_MAX);
  std::vector<uint32_t> remove_ns(n, UINT32_MAX);
  FactSet::Shape top;
  double bytes = 0;
  for (int run = 0; run < runs; ++run) {
    FactSet set;
    uint64_t before = NowNs();
    const auto take = [&before](uint32_t* least) {
      const uint64_t now = NowNs();
      *least = static_cast<uint32_t>(std::min<uint64_t>(*least, now - before));
      before = now;
    };
    for (size_t i = 0; i < n; ++i) {
      set.Add(uids[i]);
      take(&add_ns[i]);
    }
    top = set.shape();
    bytes = static_cast<double>(set.MemoryBytes()) / static_cast<double>(set.cardinality());
    before = NowNs();
    for (size_t i = 0; i < n; ++i) {
      set.Remove(removals[i]);
      take(&remove_ns[i]);
    }
    if (!set.empty()) std::abort();
  }
  std::printf("%s: %zu calls each way, %.3f bytes a fact\n", shape.name, n, bytes);
  std::printf("  forms at the top: sparse %s, %llu array, %llu dense, %llu roaring\n",
              top.sparse != 0 ? "yes" : "no", static_cast<unsigned long long>(top.array),
              static_cast<unsigned long long>(top.dense),
              static_cast<unsigned long long>(top.roaring));
  Print("Add", &add_ns);
  Print("Remove", &remove_ns);
  std::fflush(stdout);
}

}  // namespace
}  // namespace tallystick

int main(int argc, char** argv) {
  const size_t members = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 3;
  if (members == 0 || runs < 1) {
    std::fprintf(stderr, "usage: growth_bench [MEMBERS [RUNS]]\n");
    return 2;
  }
  for (const auto& shape : tallystick::kShapes) tallystick::Measure(shape, members, runs);
  return 0;
}
