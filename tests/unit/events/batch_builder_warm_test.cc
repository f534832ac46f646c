// Proves that a warm builder allocates nothing: the global operator new counts, the same batch is
// built again and again, and after the second time the count stands still.
#include "engine/events/batch_codec.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

size_t allocations = 0;

}  // namespace

void* operator new(size_t bytes) {
  ++allocations;
  void* block = std::malloc(bytes);
  if (block == nullptr) std::abort();
  return block;
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, size_t) noexcept {
  std::free(block);
}

namespace tallystick {
namespace {

TEST(BatchBuilderWarm, AllocatesNothing) {
  std::vector<std::string> eids, etypes, metrics;
  for (int i = 0; i < 1000; ++i) eids.push_back(std::to_string(i * 7919));
  for (int i = 0; i < 40; ++i) {
    etypes.push_back(std::string("an_entity_type_with_a_long_name_") + std::to_string(i));
    metrics.push_back(std::string("a_metric_with_a_long_name_") + std::to_string(i));
  }
  BatchBuilder builder;
  const auto build = [&] {
    builder.Begin(1, 2, 3, 4);
    for (uint32_t shard = 0; shard < 4; ++shard) {
      for (size_t i = 0; i < eids.size(); ++i) {
        JournalEvent e;
        e.shard = shard;
        e.sequence = 1 + i;
        e.uid = 0x9e3779b97f4a7c15u * i;
        e.delta = 1;
        e.metric = metrics[i % metrics.size()];
        e.etype = etypes[i % etypes.size()];
        e.eid = eids[i];
        builder.Add(e, &eids[i]);
      }
    }
    return builder.Finish("key").size();
  };
  // Twice: while a table grows, names land in other places than in a table of its final size.
  const size_t bytes = build();
  ASSERT_EQ(build(), bytes);
  const size_t before = allocations;
  EXPECT_GT(before, 0u);
  for (int round = 0; round < 10; ++round) ASSERT_EQ(build(), bytes);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace tallystick
