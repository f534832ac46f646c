// Proves that events which wait for their entity come out of their packed form as they went in,
// whatever the sequence, uid, delta and payload, and however many appends made it.

#include "engine/recovery/tail.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <random>

namespace tallystick {
namespace {

TEST(PackedTail, ComesOutAsItWentIn) {
  std::mt19937_64 rng(TestSeed(1));
  const auto any = [&] { return rng() >> rng() % 64; };
  for (int round = 0; round < 200; ++round) {
    std::vector<TailEvent> all;
    std::string packed;
    uint64_t sequence = 0;
    while (all.size() < 50) {
      std::vector<TailEvent> some(rng() % 5);
      const uint64_t after = sequence;
      for (TailEvent& event : some) {
        event.kind = static_cast<EventKind>(1 + rng() % kEventKindLast);
        event.metric = static_cast<uint8_t>(rng());
        event.label_any = static_cast<uint8_t>(rng() % 16);
        event.label_first = static_cast<uint8_t>(rng() % 16);
        event.sequence = sequence += 1 + rng() % 1'000'000'000'000;
        event.uid = any();
        event.delta = static_cast<int64_t>(rng() % 2 == 0 ? any() : ~any());
        if (rng() % 8 == 0) event.payload = std::make_unique<std::string>(rng() % 300, '\0');
        if (event.payload && event.payload->empty()) event.payload.reset();
      }
      PackTail(some, after, &packed);
      for (TailEvent& event : some) all.push_back(std::move(event));
    }
    const std::vector<TailEvent> found = UnpackTail(packed);
    ASSERT_EQ(found.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(found[i].kind, all[i].kind);
      ASSERT_EQ(found[i].metric, all[i].metric);
      ASSERT_EQ(found[i].label_any, all[i].label_any);
      ASSERT_EQ(found[i].label_first, all[i].label_first);
      ASSERT_EQ(found[i].sequence, all[i].sequence);
      ASSERT_EQ(found[i].uid, all[i].uid);
      ASSERT_EQ(found[i].delta, all[i].delta);
      ASSERT_EQ(found[i].payload_view(), all[i].payload_view());
    }
  }
}

}  // namespace
}  // namespace tallystick
