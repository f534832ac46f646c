// Proves which schemas are accepted and what is said of the others, that look-ups find the right
// slots, and that both written forms (binary, configuration text) bring back the same schema.
#include "engine/counts/schema.h"

#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <random>

namespace tallystick {
namespace {

SlotSpec Slot(std::string name) {
  return SlotSpec{name, name, 4, true, false};
}

Status MakeError(SchemaSpec spec) {
  Result<Schema> schema = Schema::Make(std::move(spec));
  return schema.has_value() ? Status() : schema.error();
}

SchemaSpec OneType(std::vector<SlotSpec> slots) {
  return SchemaSpec{{{"article", slots}}};
}

TEST(Schema, DefaultIsNormalAndServesEveryType) {
  const Schema schema = Schema::Make(SchemaSpec::Default()).value();
  EXPECT_EQ(schema.spec(), SchemaSpec::Default());
  ASSERT_EQ(schema.Slots("article").size(), 5u);
  EXPECT_EQ(&schema.Slots("article"), &schema.Slots("user"));
  EXPECT_TRUE(schema.Slots("").empty());
  EXPECT_EQ(Schema::FormatSlots(schema.spec().types[0]),
            "like:facts fav:facts comment:facts+counter share:facts+counter view:facts+counter");
}

TEST(Schema, SlotsOfListedTypesElseOfStarElseNone) {
  const Schema schema =
      Schema::Make(SchemaSpec{{{"zoo", {Slot("z")}}, {"*", {Slot("s")}}, {"-a", {Slot("a")}}}})
          .value();
  EXPECT_EQ(schema.Slots("zoo")[0].name, "z");
  EXPECT_EQ(schema.Slots("-a")[0].name, "a");
  EXPECT_EQ(schema.Slots("zo")[0].name, "s");
  EXPECT_EQ(schema.Slots("zzz")[0].name, "s");
  const Schema no_star = Schema::Make(OneType({Slot("like")})).value();
  EXPECT_TRUE(no_star.Slots("user").empty());
  EXPECT_TRUE(Schema().Slots("article").empty());
}

TEST(Schema, FindsEachOfManyTypes) {
  SchemaSpec spec;
  for (int i = 0; i < 2000; ++i) {
    const std::string number = std::to_string(i);
    // Alike in length, first and last bytes.
    const std::string etype =
        i % 2 == 0 ? std::string("beginning") + number + "and_the_end" : number;
    SlotSpec slot = Slot("like");
    slot.width_bytes = i % 3 == 0 ? 8 : 4;
    spec.types.push_back({etype, {slot}});
  }
  const Schema schema = Schema::Make(spec).value();
  const Schema copy = schema;
  for (const EntityTypeSpec& type : spec.types) {
    ASSERT_EQ(schema.Slots(type.etype), type.slots);
    ASSERT_EQ(copy.Slots(type.etype), type.slots);
    ASSERT_TRUE(schema.Slots(type.etype + "x").empty());
  }
}

TEST(Schema, MakeSaysWhatToMend) {
  const auto expect = [](SchemaSpec spec, std::string_view words) {
    const Status s = MakeError(std::move(spec));
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(s.message().find(words), std::string_view::npos) << s.message();
  };
  expect({}, "no entity type");
  expect(OneType({}), "no slots");
  expect(OneType(std::vector<SlotSpec>(kSlotsMax + 1, Slot("x"))), "more than 16 slots");
  expect(OneType({Slot("a b")}), "slot 'a b' is not");
  expect(OneType({Slot(std::string(65, 'x'))}), "is not [A-Za-z0-9_-]{1,64}");
  expect(OneType({Slot("like"), Slot("like")}), "is there twice");
  expect(OneType({SlotSpec{"like", "", 5, true, false}}), "width");
  expect(OneType({SlotSpec{"like", "", 4, false, false}}), "neither facts nor a counter part");
  expect(OneType({SlotSpec{"like", "fav", 4, false, true}}), "does not count facts");
  expect(OneType({SlotSpec{"like", "a:b", 4, true, false}}), "metric that is not");
  expect(OneType({Slot("like"), SlotSpec{"likes", "like", 4, true, false}}), "another slot counts");
  expect({{{"", {Slot("like")}}}}, "neither * nor");
  expect({{{"a", {Slot("like")}}, {"a", {Slot("like")}}}}, "is there twice");
  SchemaSpec many;
  for (int t = 0; t < 16; ++t) {
    EntityTypeSpec type{std::string("t") + std::to_string(t), {}};
    for (int s = 0; s < 16; ++s)
      type.slots.push_back(Slot(std::string("s") + std::to_string(16 * t + s)));
    many.types.push_back(type);
  }
  expect(many, "more than 250 different");
}

TEST(Schema, MakeNormalises) {
  const Schema schema = Schema::Make(SchemaSpec{{{"b", {SlotSpec{"like", "", 4, true, false}}},
                                                 {"a", {SlotSpec{"views", "", 8, false, true}}}}})
                            .value();
  EXPECT_EQ(schema.spec().types[0].etype, "a");
  EXPECT_EQ(schema.spec().types[0].slots[0].metric, "");
  EXPECT_EQ(schema.spec().types[1].slots[0].metric, "like");
}

TEST(Schema, ParseTypeReadsTheConfigurationForm) {
  const EntityTypeSpec type =
      Schema::ParseType("user",
                        "like, fav:facts\tcomment:facts+counter  view8:counter:8 "
                        "followers=follow:facts wide:8,both=x:facts+counter:8")
          .value();
  const std::vector<SlotSpec> expected = {{"like", "like", 4, true, false},
                                          {"fav", "fav", 4, true, false},
                                          {"comment", "comment", 4, true, true},
                                          {"view8", "", 8, false, true},
                                          {"followers", "follow", 4, true, false},
                                          {"wide", "wide", 8, true, false},
                                          {"both", "x", 8, true, true}};
  EXPECT_EQ(type.etype, "user");
  EXPECT_EQ(type.slots, expected);
  EXPECT_EQ(Schema::FormatSlots(type),
            "like:facts fav:facts comment:facts+counter view8:counter:8 followers=follow:facts "
            "wide:facts:8 both=x:facts+counter:8");
  EXPECT_EQ(Schema::ParseType("user", Schema::FormatSlots(type)).value(), type);
}

TEST(Schema, ParseTypeRefusesWhatItDoesNotKnow) {
  for (const std::string_view slots :
       {"", " , ", "like:", ":facts", "like::4", "like:fact", "like:facts:5", "like:facts:4:4",
        "=x", "like=", "like=a=b", "like:4:facts", "like:counter+facts", "x=y:counter", "like like",
        "l\xc3\xa4ke", "a=:facts", "a:facts:"}) {
    const Result<EntityTypeSpec> type = Schema::ParseType("article", slots);
    EXPECT_FALSE(type.has_value()) << slots;
    if (type.has_value()) continue;
    EXPECT_EQ(type.error().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(Schema::ParseType("a:b", "like").has_value());
  EXPECT_TRUE(Schema::ParseType("*", "like").has_value());
}

SchemaSpec RandomSpec(std::mt19937_64* random) {
  SchemaSpec spec;
  const uint64_t types = 1 + (*random)() % 5;
  for (uint64_t t = 0; t < types; ++t) {
    EntityTypeSpec type{t == 0 ? "*" : std::string("type") + std::to_string(t), {}};
    const uint64_t slots = 1 + (*random)() % kSlotsMax;
    for (uint64_t s = 0; s < slots; ++s) {
      const std::string number = std::to_string(s);
      SlotSpec slot{std::string("slot") + number, "", 4, (*random)() % 2 == 0, false};
      slot.has_counter = !slot.has_facts || (*random)() % 2 == 0;
      if (slot.has_facts && (*random)() % 2 == 0) slot.metric = std::string("metric") + number;
      if ((*random)() % 2 == 0) slot.width_bytes = 8;
      type.slots.push_back(slot);
    }
    spec.types.push_back(type);
  }
  return spec;
}

TEST(Schema, RandomRoundTripOfBothForms) {
  std::mt19937_64 random(TestSeed(20261130));
  for (int i = 0; i < 500; ++i) {
    const Schema schema = Schema::Make(RandomSpec(&random)).value();
    const Result<Schema> found = Schema::Decode(schema.Encode());
    ASSERT_TRUE(found.has_value()) << found.error().ToString();
    ASSERT_EQ(found->spec(), schema.spec());
    for (const EntityTypeSpec& type : schema.spec().types) {
      ASSERT_EQ(Schema::ParseType(type.etype, Schema::FormatSlots(type)).value(), type);
    }
  }
}

TEST(Schema, DecodeRefusesDamageAndNewerVersions) {
  std::mt19937_64 random(TestSeed(20261130));
  const std::string bytes = Schema::Make(RandomSpec(&random)).value().Encode();
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(Schema::Decode(bytes.substr(0, length)).error().code(), StatusCode::kCorruption);
  }
  EXPECT_FALSE(Schema::Decode(bytes + '\0').has_value());
  // Whatever one changed byte makes of it, it is refused or it is a schema with one encoding.
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      const Result<Schema> found = Schema::Decode(changed);
      if (!found.has_value()) continue;
      ASSERT_EQ(found->Encode(), changed);
    }
  }
  EXPECT_EQ(Schema::Decode("\x03").error().message(),
            "schema: version 3 was found, the newest understood is 1");
  EXPECT_EQ(Schema::Decode("\x03").error().code(), StatusCode::kUnsupportedFormat);
}

}  // namespace
}  // namespace tallystick
