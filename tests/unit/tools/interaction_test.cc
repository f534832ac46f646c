// Proves that the CSV reader takes exactly the dialect that it documents, plain and gzip, and names
// line and cause of everything else. How: rows and near misses as text; files written by the test.
#include "tools/cli/interaction.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tallystick {
namespace {

std::string Refusal(std::string_view line) {
  const Result<Interaction> row = ParseInteraction(line);
  return row ? "" : std::string(row.error().message());
}

class InteractionFile : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = ::testing::TempDir() + "interaction_" + info->name() + "_" + std::to_string(getpid());
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void WritePlain(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  void WriteGzip(const std::string& text) {
    gzFile file = gzopen(path_.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
    ASSERT_EQ(gzclose(file), Z_OK);
  }

  // Reads to the end or to the first error, which is left in *status.
  std::vector<std::string> ReadAll(Status* status) {
    std::vector<std::string> rows;
    auto reader = InteractionReader::Open(path_);
    if (!reader) {
      *status = reader.error();
      return rows;
    }
    Interaction row;
    double progress = 0;
    while (true) {
      const Result<bool> more = (*reader)->Next(&row);
      EXPECT_GE((*reader)->progress(), progress);
      progress = (*reader)->progress();
      if (!more) {
        *status = more.error();
        break;
      }
      if (!*more) {
        EXPECT_EQ(progress, 1);
        break;
      }
      rows.push_back(std::string(row.metric) + "|" + std::string(row.etype) + "|" +
                     std::string(row.eid) + "|" + std::to_string(row.uid) + (row.set ? "+" : "-"));
    }
    EXPECT_EQ((*reader)->rows(), rows.size());
    return rows;
  }

  std::string path_;
};

TEST(Interaction, ARow) {
  const Result<Interaction> row =
      ParseInteraction("1403054214196,like,comment,a:b c,18446744073709551615,1");
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->ts_ms, 1403054214196u);
  EXPECT_EQ(row->metric, "like");
  EXPECT_EQ(row->etype, "comment");
  EXPECT_EQ(row->eid, "a:b c");
  EXPECT_EQ(row->uid, UINT64_MAX);
  EXPECT_TRUE(row->set);
  EXPECT_FALSE(ParseInteraction("0,l,c,1,0,0")->set);
}

TEST(Interaction, NearMisses) {
  EXPECT_EQ(Refusal(""), "the line is empty");
  EXPECT_EQ(Refusal("1,l,c,1,1,1\r"), "the line ends with CR LF, not LF");
  EXPECT_EQ(Refusal("1,l,c,\"1\",1,1"), "quoted fields are not supported");
  EXPECT_EQ(Refusal("1,l,c,1,1"), "5 fields instead of 6 (ts,metric,etype,eid,uid,op)");
  EXPECT_EQ(Refusal("1,l,c,1,1,1,"), "7 fields instead of 6 (ts,metric,etype,eid,uid,op)");
  EXPECT_EQ(Refusal("x,l,c,1,1,1"), "ts must be a number of ms since 1970, not \"x\"");
  EXPECT_EQ(Refusal("1,,c,1,1,1"), "metric must be 1 to 64 of A-Z a-z 0-9 _ -, not \"\"");
  EXPECT_EQ(Refusal("1,l:,c,1,1,1"), "metric must be 1 to 64 of A-Z a-z 0-9 _ -, not \"l:\"");
  EXPECT_EQ(Refusal("1,l,\x01,1,1,1"), "etype must be 1 to 64 of A-Z a-z 0-9 _ -, not \"\\x01\"");
  EXPECT_NE(Refusal("1,l," + std::string(65, 'c') + ",1,1,1"), "");
  EXPECT_EQ(Refusal("1,l," + std::string(64, 'c') + ",1,1,1"), "");
  EXPECT_EQ(Refusal("1,l,c,,1,1"), "eid must have 1 to 512 bytes, not 0");
  EXPECT_EQ(Refusal("1,l,c," + std::string(513, 'e') + ",1,1"),
            "eid must have 1 to 512 bytes, not 513");
  EXPECT_EQ(Refusal("1,l,c," + std::string(512, 'e') + ",1,1"), "");
  for (const char* uid : {"", "-1", "+1", " 1", "1 ", "01", "1.0", "18446744073709551616", "0x1"}) {
    EXPECT_NE(Refusal("1,l,c,1," + std::string(uid) + ",1"), "") << uid;
  }
  for (const char* op : {"", "2", "-1", "01", "1 ", "true"}) {
    EXPECT_NE(Refusal("1,l,c,1,1," + std::string(op)), "") << op;
  }
}

TEST_F(InteractionFile, PlainAndGzipAreTheSame) {
  std::string text = "ts,metric,etype,eid,uid,op\n";
  std::vector<std::string> expected;
  for (int i = 0; i < 50000; ++i) {  // several read buffers
    text += std::to_string(i) + ",like,article,e" + std::to_string(i % 77) + "," +
            std::to_string(i) + "," + std::to_string(i % 2) + "\n";
    expected.push_back("like|article|e" + std::to_string(i % 77) + "|" + std::to_string(i) +
                       (i % 2 == 1 ? "+" : "-"));
  }
  Status status;
  WritePlain(text);
  EXPECT_EQ(ReadAll(&status), expected);
  WriteGzip(text);
  EXPECT_EQ(ReadAll(&status), expected);
  text.pop_back();  // the last line end may be missing
  WriteGzip(text);
  EXPECT_EQ(ReadAll(&status), expected);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(InteractionFile, AMalformedLineIsNamedAfterTheGoodOnes) {
  WriteGzip("ts,metric,etype,eid,uid,op\n1,l,c,1,1,1\n2,l,c,2,1,1\n3,l,c,3,1\n4,l,c,4,1,1\n");
  Status status;
  EXPECT_EQ(ReadAll(&status).size(), 2u);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), path_ + ":4: 5 fields instead of 6 (ts,metric,etype,eid,uid,op)");
}

TEST_F(InteractionFile, AnEndlessLineIsRefusedWithoutReadingItAll) {
  WritePlain("ts,metric,etype,eid,uid,op\n1,l,c,1,1,1\n" + std::string(10 << 20, 'x'));
  Status status;
  EXPECT_EQ(ReadAll(&status).size(), 1u);
  EXPECT_EQ(status.message(), path_ + ":3: the line is longer than 4096 bytes");
}

TEST_F(InteractionFile, TheHeaderIsRequired) {
  for (const char* text : {"", "1,l,c,1,1,1\n", "ts,metric,etype,eid,uid\n", "\n"}) {
    WritePlain(text);
    Status status;
    EXPECT_TRUE(ReadAll(&status).empty());
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
  }
  WritePlain("ts,metric,etype,eid,uid,op\n");
  Status status;
  EXPECT_TRUE(ReadAll(&status).empty());
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(InteractionFile, DamagedGzipIsNotTakenForItsEnd) {
  std::string text = "ts,metric,etype,eid,uid,op\n";
  for (int i = 0; i < 1000; ++i) text += "1,like,article," + std::to_string(i * 7919) + ",1,1\n";
  WriteGzip(text);
  std::string bytes(std::filesystem::file_size(path_), '\0');
  std::ifstream(path_, std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  for (const size_t kept : {bytes.size() - 1, bytes.size() - 8, bytes.size() / 2}) {
    WritePlain(bytes.substr(0, kept));
    Status status;
    ReadAll(&status);
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << kept << ": " << status.ToString();
  }
  bytes[bytes.size() - 6] ^= 1;  // within the trailer's checksum
  WritePlain(bytes);
  Status status;
  ReadAll(&status);
  EXPECT_EQ(status.code(), StatusCode::kCorruption) << status.ToString();
}

TEST_F(InteractionFile, GzipMembersFollowEachOtherAndNothingElse) {
  const auto bytes_of = [this](const std::string& text) {
    WriteGzip(text);
    std::ifstream file(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string first = bytes_of("ts,metric,etype,eid,uid,op\n1,l,c,1,1,1\n");
  const std::string second = bytes_of("2,l,c,2,1,1\n");
  Status status;
  WritePlain(first + second);
  EXPECT_EQ(ReadAll(&status), (std::vector<std::string>{"l|c|1|1+", "l|c|2|1+"}));
  EXPECT_TRUE(status.ok()) << status.ToString();
  std::vector<std::string> tails = {"x", std::string(1, '\x1f'), std::string(1, '\0'),
                                    "2,l,c,2,1,1\n", second.substr(0, 5)};
  for (const size_t damaged : {0u, 1u, 2u, 3u}) {  // magic, method, flags
    tails.push_back(second);
    tails.back()[damaged] ^= static_cast<char>(0xe0);
  }
  for (const std::string& tail : tails) {
    WritePlain(first + tail);
    status = Status();
    EXPECT_EQ(ReadAll(&status), std::vector<std::string>{"l|c|1|1+"});
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << ::testing::PrintToString(tail);
    EXPECT_NE(status.message().find(" is damaged after line 2: "), std::string::npos)
        << status.ToString();
  }
}

TEST_F(InteractionFile, MissingFilesAndDirectories) {
  Status status;
  ReadAll(&status);
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_NE(status.message().find("No such file"), std::string::npos) << status.ToString();
  EXPECT_FALSE(InteractionReader::Open(::testing::TempDir()).has_value());
}

}  // namespace
}  // namespace tallystick
