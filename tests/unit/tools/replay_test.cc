// Proves that a replay into a server sends every row in a right order, counts changes, survives
// BUSY, stops clearly at a malformed row, a lost connection and an unconfigured metric, and reports
// what the server says rather than what the file says. How: a model server on a socket, and files
// of random interactions whose truth the test keeps itself.
#include "tools/cli/replay.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
#include "tests/unit/tools/model_server.h"
#include "tools/cli/server_target.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <set>

namespace tallystick {
namespace {

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() : path_(dir_ / "interactions.csv"), random_(TestSeed(20240607)) {}

  // A file of random rows over few facts, so that most change several times.
  void WriteRandomFile(int rows) {
    std::ofstream out(path_);
    out << kInteractionHeader << "\n";
    for (int i = 0; i < rows; ++i) {
      const std::string metric = random_() % 3 == 0 ? "fav" : "like";
      const std::string etype = random_() % 2 == 0 ? "article" : "comment";
      const std::string eid = "e:" + std::to_string(random_() % 30);
      const uint64_t uid = random_() % 50 + (random_() % 2 == 0 ? UINT64_MAX - 60 : 0);
      const bool set = random_() % 3 != 0;
      out << i << "," << metric << "," << etype << "," << eid << "," << uid << "," << set << "\n";
      std::set<uint64_t>& members = truth_[{metric, etype, eid}];
      changes_ += set ? members.insert(uid).second : members.erase(uid);
    }
  }

  ReplayOutcome Run(ModelServer::Behaviour behaviour, size_t batch_rows, SchemaSpec schema = {}) {
    ModelServer server(std::move(behaviour));
    RespClientOptions options;
    options.port = server.port();
    auto client = RespClient::Connect(options);
    EXPECT_TRUE(client.has_value());
    FactKeys keys;
    ServerTarget target(std::move(*client), &keys, std::move(schema));
    auto reader = InteractionReader::Open(path_);
    EXPECT_TRUE(reader.has_value());
    std::FILE* nowhere = std::fopen("/dev/null", "w");
    Progress progress(nowhere, "rows");
    const ReplayOutcome outcome = Replay(reader->get(), &keys, &target, batch_rows, &progress);
    std::fclose(nowhere);
    return outcome;
  }

  void ExpectTruth(const ReplayOutcome& outcome, uint64_t rows) {
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
    EXPECT_EQ(outcome.mismatches, 0u);
    EXPECT_EQ(outcome.acknowledged_rows, rows);
    EXPECT_EQ(outcome.report.rows, rows);
    EXPECT_EQ(outcome.report.changes, changes_);
    ReportBuilder builder;
    uint64_t facts = 0;
    std::set<uint64_t> users;
    for (const auto& [key, members] : truth_) {
      const auto& [metric, etype, eid] = key;
      builder.AddCount(metric, etype, eid, static_cast<int64_t>(members.size()));
      facts += members.size();
      users.insert(members.begin(), members.end());
    }
    ReplayReport expected;
    builder.Finish(&expected);
    EXPECT_EQ(outcome.report.facts, facts);
    EXPECT_EQ(outcome.report.users, users.size());
    EXPECT_EQ(outcome.report.items, expected.items);
    EXPECT_EQ(outcome.report.counts_sha256, expected.counts_sha256);
    EXPECT_EQ(outcome.report.top, expected.top);
  }

  TempDir dir_;
  const std::string path_;
  std::mt19937_64 random_;
  std::map<std::tuple<std::string, std::string, std::string>, std::set<uint64_t>> truth_;
  uint64_t changes_ = 0;
};

TEST_F(ReplayTest, EveryBatchSizeGivesTheSame) {
  WriteRandomFile(5000);
  for (const size_t batch_rows : {size_t{1}, size_t{2}, size_t{7}, size_t{1000}, kBatchRowsMax}) {
    ExpectTruth(Run({}, batch_rows), 5000);
  }
}

TEST_F(ReplayTest, BusyIsRepeatedWithoutChangingTheOutcome) {
  WriteRandomFile(1000);
  ModelServer::Behaviour behaviour;
  behaviour.busy_every = 3;
  ExpectTruth(Run(behaviour, 200), 1000);
}

TEST_F(ReplayTest, AnEmptyFile) {
  WriteRandomFile(0);
  ExpectTruth(Run({}, 100), 0);
}

TEST_F(ReplayTest, AMalformedRowEndsItAfterTheGoodOnes) {
  WriteRandomFile(2500);
  std::ofstream(path_, std::ios::app) << "1,like,article,1,x,1\n1,like,article,1,1,1\n";
  const ReplayOutcome outcome = Run({}, 1000);
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(outcome.status.message().find(":2502: uid must be"), std::string::npos);
  EXPECT_EQ(outcome.acknowledged_rows, 2500u);
  EXPECT_EQ(outcome.report.changes, changes_);
}

TEST_F(ReplayTest, ALostConnectionSaysHowFarItCame) {
  WriteRandomFile(5000);
  ModelServer::Behaviour behaviour;
  behaviour.close_after = 1000;
  const ReplayOutcome outcome = Run(behaviour, 100);
  EXPECT_EQ(outcome.status.code(), StatusCode::kIoError);
  EXPECT_NE(outcome.status.message().find("lost"), std::string::npos);
  EXPECT_GT(outcome.acknowledged_rows, 0u);
  EXPECT_LT(outcome.acknowledged_rows, 5000u);
}

TEST_F(ReplayTest, AMetricWithoutSlotIsNamedBeforeItsRowsAreSent) {
  WriteRandomFile(1000);
  ModelServer::Behaviour behaviour;
  behaviour.slots = {"like"};
  ReplayOutcome outcome = Run(behaviour, 100);
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(outcome.status.message().find("metric fav"), std::string::npos);
  EXPECT_NE(outcome.status.message().find("\"fav:facts\""), std::string::npos);
  EXPECT_EQ(outcome.acknowledged_rows, 0u);
  SchemaSpec schema;
  schema.types.push_back({"article", {{"like", "", 4, true, false}}});
  outcome = Run({}, 100, schema);
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalidArgument);
}

TEST_F(ReplayTest, TheSchemaTellsTheSlotsName) {
  WriteRandomFile(1000);
  SchemaSpec schema;
  schema.types.push_back({"*", {{"likes", "like", 4, true, false}, {"fav", "", 4, true, false}}});
  const ReplayOutcome outcome = Run({}, 100, schema);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
  EXPECT_GT(outcome.mismatches, 0u) << "the model counts under the metric's name only";
}

TEST_F(ReplayTest, ACountThatIsNotItsFactsIsReported) {
  WriteRandomFile(1000);
  ModelServer::Behaviour behaviour;
  behaviour.drifting_key = "like:article:e:1";
  const ReplayOutcome outcome = Run(behaviour, 100);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
  EXPECT_EQ(outcome.mismatches, 1u);
  ASSERT_EQ(outcome.first_mismatches.size(), 1u);
  EXPECT_NE(outcome.first_mismatches[0].find("\"like:article:e:1\""), std::string::npos);
}

TEST(Progress, ALine) {
  EXPECT_EQ(FormatProgress(0, 0, "rows", 0), "[>                             ]   0 %  0 rows");
  EXPECT_EQ(FormatProgress(0.5, 231000, "rows", 2),
            "[===============>              ]  50 %  231,000 rows  115,500 rows/s");
  EXPECT_EQ(FormatProgress(1.5, 7, "rows", 1),
            "[==============================] 100 %  7 rows  7 rows/s");
}

}  // namespace
}  // namespace tallystick
