// Proves that the payload of a reset comes back as it was and that foreign bytes are refused.
#include "engine/events/batch_codec.h"

#include <tallystick/types.h>

#include <gtest/gtest.h>

namespace tallystick {
namespace {

TEST(ResetPayload, RoundTripAndTruncation) {
  std::vector<ResetSlot> slots = {{"like", 0, 0}, {"view", INT64_MAX, INT64_MIN}, {"x", -1, 64}};
  std::string payload;
  EncodeReset(slots, &payload);
  std::vector<ResetSlot> found;
  ASSERT_TRUE(DecodeReset(payload, &found));
  ASSERT_EQ(found.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found[i].slot, slots[i].slot);
    EXPECT_EQ(found[i].facts, slots[i].facts);
    EXPECT_EQ(found[i].counter_part, slots[i].counter_part);
  }
  for (size_t length = 0; length < payload.size(); ++length) {
    EXPECT_FALSE(DecodeReset(std::string_view(payload).substr(0, length), &found));
  }
  EXPECT_FALSE(DecodeReset(payload + "x", &found));
}

TEST(ResetPayload, NoSlotsAndTooMany) {
  std::string payload;
  EncodeReset({}, &payload);
  std::vector<ResetSlot> found;
  EXPECT_TRUE(DecodeReset(payload, &found));
  EXPECT_TRUE(found.empty());
  std::string lie(1, static_cast<char>(kSlotsMax + 1));
  for (size_t i = 0; i <= kSlotsMax; ++i) lie += std::string("\x01x\0\0", 4);
  EXPECT_FALSE(DecodeReset(lie, &found));
  EXPECT_FALSE(DecodeReset(std::string("\x01\x01:\0\0", 5), &found));  // not a name
}

}  // namespace
}  // namespace tallystick
