// Proves the pure parts of a replay: key names, batches that commute, the ranking, and the
// fingerprint (against a digest that sha256sum gives for the same lines). How: small cases by hand.
#include "tools/cli/fact_keys.h"
#include "tools/cli/replay_batch.h"
#include "tools/cli/replay_report.h"
#include "tools/cli/sha256.h"
#include "tools/cli/text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tallystick {
namespace {

TEST(FactKeys, PartsAndNumbers) {
  FactKeys keys;
  bool is_new = false;
  EXPECT_EQ(keys.Intern("like", "article", "a:b", &is_new), 0u);
  EXPECT_TRUE(is_new);
  EXPECT_EQ(keys.Intern("like", "article", "a", &is_new), 1u);
  EXPECT_EQ(keys.Intern("like", "article", "a:b", &is_new), 0u);
  EXPECT_FALSE(is_new);
  ASSERT_EQ(keys.size(), 2u);
  for (int i = 0; i < 10000; ++i) keys.Intern("m", "t", std::to_string(i), &is_new);
  const NamedFactKey& key = keys[0];
  EXPECT_EQ(key.text(), "like:article:a:b");
  EXPECT_EQ(key.metric(), "like");
  EXPECT_EQ(key.etype(), "article");
  EXPECT_EQ(key.eid(), "a:b");
  EXPECT_EQ(key.entity(), "article:a:b");
  EXPECT_EQ(key.group(), "like:article");
  EXPECT_EQ(keys.Intern("m", "t", "9999", &is_new), 10001u);
  EXPECT_FALSE(is_new);
}

TEST(ReplayBatch, GroupsByKeyAndOpAndStopsAtTheOppositeOp) {
  ReplayBatch batch;
  EXPECT_TRUE(batch.Add(0, 7, true));
  EXPECT_TRUE(batch.Add(0, 8, false));
  EXPECT_TRUE(batch.Add(1, 7, false));
  EXPECT_TRUE(batch.Add(0, 7, true));
  EXPECT_TRUE(batch.Add(0, 9, true));
  EXPECT_FALSE(batch.Add(0, 7, false));
  EXPECT_FALSE(batch.Add(1, 7, true));
  EXPECT_EQ(batch.rows(), 5u);
  ASSERT_EQ(batch.groups().size(), 3u);
  EXPECT_EQ(batch.groups()[0].uids, (std::vector<uint64_t>{7, 7, 9}));
  EXPECT_FALSE(batch.groups()[1].set);
  EXPECT_EQ(batch.groups()[2].key, 1u);
  batch.Clear();
  EXPECT_EQ(batch.rows(), 0u);
  EXPECT_TRUE(batch.groups().empty());
  EXPECT_TRUE(batch.Add(0, 7, false));
}

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(Sha256().FinishHex(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 sha;  // FIPS 180-4's example
  sha.Update("a");
  sha.Update("bc");
  EXPECT_EQ(sha.FinishHex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(ReplayReport, FingerprintAndRanking) {
  ReportBuilder builder;
  builder.AddCount("like", "article", "9", 3);
  builder.AddCount("like", "article", "10", 3);
  builder.AddCount("like", "article", "11", 40);
  builder.AddCount("like", "article", "gone", 0);
  builder.AddCount("fav", "article", "9", 1);
  ReplayReport report;
  builder.Finish(&report);
  EXPECT_EQ(report.items, 4u);
  // printf 'fav\tarticle\t9\t1\nlike\tarticle\t10\t3\nlike\tarticle\t11\t40\nlike\tarticle\t9\t3\n'
  // | sha256sum
  EXPECT_EQ(report.counts_sha256,
            "41b54029965a861b870c5181914ac8d3f4a7964b90215997a90a1508e5416310");
  const ReplayReport::Ranking expected{{"11", 40}, {"10", 3}, {"9", 3}};
  EXPECT_EQ(report.top.at("like:article"), expected);
}

TEST(ReplayReport, OnlyTheFirstTwentyAreRanked) {
  ReportBuilder builder;
  for (int i = 0; i < 100; ++i) builder.AddCount("like", "a", std::to_string(i), i);
  ReplayReport report;
  builder.Finish(&report);
  ASSERT_EQ(report.top.at("like:a").size(), 20u);
  EXPECT_EQ(report.top.at("like:a").back().second, 80);
  EXPECT_EQ(report.items, 99u);
}

TEST(ReplayReport, NothingIsTheDigestOfNothing) {
  ReplayReport report;
  ReportBuilder().Finish(&report);
  EXPECT_EQ(report.counts_sha256, Sha256().FinishHex());
}

TEST(ReplayReport, JsonHasTheNamesOfATruthFile) {
  ReportBuilder builder;
  builder.AddCount("like", "a", "\xff", 2);
  ReplayReport report;
  builder.Finish(&report);
  report.rows = 5;
  report.changes = 4;
  report.facts = 2;
  report.users = 2;
  report.seconds = 0.5;
  const auto json = nlohmann::json::parse(FormatJson(report));
  EXPECT_EQ(json["events"], 5);
  EXPECT_EQ(json["changes"], 4);
  EXPECT_EQ(json["items"], 1);
  EXPECT_EQ(json["facts"], 2);
  EXPECT_EQ(json["users"], 2);
  EXPECT_EQ(json["rows_per_second"], 10);
  EXPECT_EQ(json["top20"]["like:a"][0][1], 2);
  EXPECT_NE(FormatTable(report).find("\"\\xff\""), std::string::npos);
}

TEST(Text, QuotedHexThousands) {
  EXPECT_EQ(Quoted("a\"b\\\n"), "\"a\\x22b\\x5c\\x0a\"");
  EXPECT_EQ(Quoted(std::string(129, 'x')), "\"" + std::string(128, 'x') + "\"...");
  EXPECT_EQ(Hex(std::string_view("\x00\xfe", 2)), "00fe");
  EXPECT_EQ(Thousands(0), "0");
  EXPECT_EQ(Thousands(999), "999");
  EXPECT_EQ(Thousands(1000), "1,000");
  EXPECT_EQ(Thousands(UINT64_MAX), "18,446,744,073,709,551,615");
}

}  // namespace
}  // namespace tallystick
