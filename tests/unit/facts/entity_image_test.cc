// Proves that entity images come back as they were, sorted, in one encoding only, and that every
// small damage, a foreign key and a newer version are refused.
#include "engine/facts/entity_image.h"

#include "engine/base/checksum.h"
#include "tests/support/damage.h"

#include <gtest/gtest.h>

namespace tallystick {
namespace {

constexpr std::string_view kKey = "key";

EntityImage SampleFacts() {
  EntityImage image;
  image.sequence = UINT64_MAX;
  image.generation = 3;
  image.sets = {{"like", {5, 2}, "header of like"}, {"fav", {0, 0}, ""}};
  image.counter_parts = {{"view", INT64_MIN}, {"comment", INT64_MAX}, {"share", 0}};
  return image;
}

TEST(EntityImage, FactsRoundTripSorted) {
  const std::string value = EncodeEntityImage(kKey, SampleFacts());
  EntityImage found;
  ASSERT_TRUE(DecodeEntityImage(kKey, value, &found).ok());
  EXPECT_EQ(found.sequence, UINT64_MAX);
  EXPECT_EQ(found.generation, 3u);
  ASSERT_EQ(found.sets.size(), 2u);
  EXPECT_EQ(found.sets[0].metric, "fav");
  EXPECT_EQ(found.sets[0].header, "");
  EXPECT_EQ(found.sets[1].metric, "like");
  EXPECT_EQ(found.sets[1].labels, (SetLabels{5, 2}));
  EXPECT_EQ(found.sets[1].header, "header of like");
  ASSERT_EQ(found.counter_parts.size(), 3u);
  EXPECT_EQ(found.counter_parts[0].slot, "comment");
  EXPECT_EQ(found.counter_parts[0].value, INT64_MAX);
  EXPECT_EQ(found.counter_parts[2].slot, "view");
  EXPECT_EQ(found.counter_parts[2].value, INT64_MIN);
  EXPECT_EQ(found.plain, PlainType::kNone);
  EXPECT_EQ(EncodeEntityImage(kKey, found), value);
}

TEST(EntityImage, PlainKindsRoundTrip) {
  for (const PlainType type : {PlainType::kString, PlainType::kBits, PlainType::kSet}) {
    for (const std::string& text : {std::string(), std::string("a\0b", 3)}) {
      EntityImage image;
      image.plain = type;
      image.expire_at_ms = 1764547200000;
      if (type == PlainType::kBits) image.plain_bytes = 536870912;
      if (type == PlainType::kString) image.plain_value = text;
      const std::string value = EncodeEntityImage(kKey, image);
      EntityImage found;
      ASSERT_TRUE(DecodeEntityImage(kKey, value, &found).ok());
      EXPECT_EQ(found.plain, type);
      EXPECT_EQ(found.expire_at_ms, image.expire_at_ms);
      EXPECT_EQ(found.plain_bytes, image.plain_bytes);
      EXPECT_EQ(found.plain_value, image.plain_value);
      EXPECT_EQ(EncodeEntityImage(kKey, found), value);
    }
  }
}

TEST(EntityImage, TextsRoundTrip) {
  EntityImage image;
  image.plain = PlainType::kSet;
  image.expire_at_ms = 7;
  image.texts = "header of texts";
  const std::string value = EncodeEntityImage(kKey, image);
  EntityImage found;
  ASSERT_TRUE(DecodeEntityImage(kKey, value, &found).ok());
  EXPECT_EQ(found.plain, PlainType::kSet);
  EXPECT_EQ(found.expire_at_ms, 7u);
  EXPECT_EQ(found.texts, "header of texts");
}

TEST(EntityImage, DamageIsRefused) {
  EntityImage found;
  const auto accepts = [&found](std::string_view bytes) {
    const Status s = DecodeEntityImage(kKey, bytes, &found);
    const bool one_encoding = !s.ok() || EncodeEntityImage(kKey, found) == bytes;
    EXPECT_TRUE(one_encoding);
    return s.ok();
  };
  const std::string value = EncodeEntityImage(kKey, SampleFacts());
  testing::ExpectEveryDamageRefused(value, accepts);
  testing::ExpectNoHarmBehindChecksum(kKey, value, accepts);
  EXPECT_EQ(DecodeEntityImage("other key", value, &found).code(), StatusCode::kCorruption);
}

TEST(EntityImage, ANewerVersionIsRefusedByName) {
  std::string value("\x02whatever");
  SealRecord(kKey, &value);
  EntityImage found;
  const Status s = DecodeEntityImage(kKey, value, &found);
  EXPECT_EQ(s.code(), StatusCode::kUnsupportedFormat);
  EXPECT_EQ(s.message(), "entity image: version 2 was found, the newest understood is 1");
}

}  // namespace
}  // namespace tallystick
