// Proves that the records of the id dictionary come back as they were, and that damage, a foreign
// key and a newer version are refused.
#include "engine/counts/id_record.h"

#include "engine/base/checksum.h"
#include "engine/facts/packed_id.h"
#include "tests/support/damage.h"

#include <gtest/gtest.h>

namespace tallystick {
namespace {

TEST(IdRecord, NamespacesRoundTrip) {
  const std::vector<IdNamespaceSpec> specs = {{"*", "users"}, {"article", "users"}, {"x", "y"}};
  const std::string value = EncodeIdNamespaces(specs);
  const auto found = DecodeIdNamespaces(value);
  ASSERT_TRUE(found.has_value()) << found.error().ToString();
  EXPECT_EQ(*found, specs);
  testing::ExpectEveryDamageRefused(
      value, [](std::string_view bytes) { return DecodeIdNamespaces(bytes).has_value(); });
  std::string newer("\x02whatever");
  SealRecord(kIdNamespacesKey, &newer);
  EXPECT_EQ(DecodeIdNamespaces(newer).error().code(), StatusCode::kUnsupportedFormat);
}

TEST(IdRecord, GenerationsRoundTrip) {
  IdGeneration generation;
  generation.generation = 3;
  for (uint32_t i = 0; i < kIdStripes; ++i) generation.begins[i] = i * 1000;
  const std::string value = EncodeIdGeneration("users", generation);
  const auto found = DecodeIdGeneration("users", value);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->generation, 3u);
  EXPECT_EQ(found->begins[15], 15000u);
  EXPECT_FALSE(DecodeIdGeneration("others", value).has_value());
  testing::ExpectEveryDamageRefused(
      value, [](std::string_view bytes) { return DecodeIdGeneration("users", bytes).has_value(); });
}

TEST(IdRecord, BothWaysRoundTrip) {
  std::string packed;
  PackId("alice", &packed);
  const std::string number_key = IdNumberKey("users", 15, 70000);
  std::string_view name, found;
  uint32_t stripe = 0, number = 0;
  ASSERT_TRUE(ParseIdNumberKey(number_key, &name, &stripe, &number));
  EXPECT_EQ(name, "users");
  EXPECT_EQ(stripe, 15u);
  EXPECT_EQ(number, 70000u);
  EXPECT_FALSE(ParseIdNumberKey(number_key + "x", &name, &stripe, &number));
  const std::string id = EncodeIdNumber(number_key, packed);
  ASSERT_TRUE(DecodeIdNumber(number_key, id, &found).ok());
  EXPECT_EQ(found, packed);
  testing::ExpectEveryDamageRefused(
      id, [&](std::string_view bytes) { return DecodeIdNumber(number_key, bytes, &found).ok(); });
  const std::string id_key = IdKey("users", 2, packed);
  EXPECT_GE(id_key, IdKeyPrefix("users", 2));
  EXPECT_LT(id_key, IdKeyPrefix("users", 3));
  const std::string value = EncodeIdKey(id_key, 70000);
  number = 0;
  ASSERT_TRUE(DecodeIdKey(id_key, value, &number).ok());
  EXPECT_EQ(number, 70000u);
  EXPECT_FALSE(DecodeIdKey(IdKey("users", 1, packed), value, &number).ok());
}

}  // namespace
}  // namespace tallystick
