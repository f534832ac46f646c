// Proves that the tool reads the [schema] section as the server does and skips the server's own
// settings; and that a verification is told in full. How: texts by hand.
#include "tools/cli/schema_config.h"
#include "tests/support/temp_dir.h"
#include "tools/cli/fact_slots.h"
#include "tools/cli/verify_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace tallystick {
namespace {

TEST(SchemaConfig, OnlyTheSchemaSection) {
  const auto schema = ParseSchemaConfig(
      "port = 7000\n# [schema]\n[ schema ]\n; a comment\n"
      "comment = like:facts view:facts\n* = \"share:facts, n=like:facts:8\"\n[ server ]\ndir = "
      "like\n");
  ASSERT_TRUE(schema.has_value()) << schema.error().ToString();
  ASSERT_EQ(schema->types.size(), 2u);
  EXPECT_EQ(schema->types[0].etype, "comment");
  EXPECT_EQ(schema->types[0].slots[1].name, "view");
  const std::vector<SlotSpec>* other = FindSlots(*schema, "url");
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(FindFactSlot(*other, "like"), 1u);
  EXPECT_EQ(FindFactSlot(*other, "n"), std::nullopt);
  EXPECT_EQ(FindFactSlot(*FindSlots(*schema, "comment"), "share"), std::nullopt);
  EXPECT_TRUE(ParseSchemaConfig("")->types.empty());
}

TEST(SchemaConfig, Refusals) {
  EXPECT_NE(ParseSchemaConfig("[schema]\nlike\n").error().message().find("line 2"),
            std::string::npos);
  EXPECT_NE(ParseSchemaConfig("[schema]\na = x\na = y\n").error().message().find("twice"),
            std::string::npos);
  EXPECT_FALSE(ParseSchemaConfig("[schema]\na = b:nonsense\n").has_value());
  EXPECT_TRUE(ParseSchemaConfig("[\na = b:nonsense\n").has_value());
  TempDir dir;
  EXPECT_EQ(ReadSchemaConfig(dir / "none").error().code(), StatusCode::kIoError);
  std::ofstream(dir / "bad") << "[schema]\nlike\n";
  EXPECT_NE(ReadSchemaConfig(dir / "bad").error().message().find("bad: line 2"), std::string::npos);
}

TEST(VerifyReportText, TellsEveryDriftAndAllDamage) {
  VerifyReport report;
  report.entities = 3;
  report.drift_count = 1;
  report.drifts.push_back({DriftKind::kCounterPart, "article", "a\n", "view", 5, 0, 5, 6});
  report.damaged_count = 1;
  report.damaged.push_back("article:'b': count record: checksum");
  const std::string text = FormatVerification(report);
  EXPECT_NE(text.find("drift (counter part) view of article:\"a\\x0a\": record 5, facts 0, counter "
                      "part 5 (in the snapshot 6)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("damaged: article:'b'"), std::string::npos);
  const auto json = nlohmann::json::parse(FormatVerificationJson(report));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["drifts"][0]["slot"], "view");
  EXPECT_EQ(json["drifts"][0]["snapshot_counter_part"], 6);
  EXPECT_EQ(json["damaged"].size(), 1u);
}

}  // namespace
}  // namespace tallystick
