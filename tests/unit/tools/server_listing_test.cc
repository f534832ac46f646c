// Proves that what a server lists and says of its entities is read right, and that an entity is
// told in full. How: keys, replies and dumps by hand.
#include "tools/cli/server_listing.h"
#include "tools/cli/entity_dump.h"

#include <gtest/gtest.h>

namespace tallystick {
namespace {

RespReply Parse(std::string_view bytes) {
  RespReplyParser parser;
  parser.Feed(bytes);
  RespReply reply;
  EXPECT_TRUE(parser.Next(&reply).value_or(false));
  return reply;
}

TEST(ServerListing, FactKeysOfViews) {
  EXPECT_EQ(FactKeyOfView("bm:like:article:42:0"), "like:article:42");
  EXPECT_EQ(FactKeyOfView("bm:like:article:a:b:7"), "like:article:a:b");
  EXPECT_EQ(FactKeyOfView("comment:likes:7"), "like:comment:7");
  EXPECT_EQ(FactKeyOfView("comment:likes:7:likes:8"), "like:comment:7:likes:8");
  for (const char* key : {"bm:", "bm:like", "bm:like:article", "bm:like:article:42", ":likes:1",
                          "a:b:likes:1", "likes:1", "plain"}) {
    EXPECT_EQ(FactKeyOfView(key), std::nullopt) << key;
  }
}

TEST(ServerListing, PatternsForOneText) {
  EXPECT_EQ(EscapeGlob("a*b?[c]\\"), "a\\*b\\?\\[c\\]\\\\");
}

TEST(ServerListing, AVerification) {
  const RespReply reply = Parse(
      "*8\r\n$2\r\nok\r\n:0\r\n$8\r\nsequence\r\n:9\r\n$15\r\nrecord_sequence\r\n:7\r\n$"
      "5\r\nslots\r\n"
      "*2\r\n$4\r\nlike\r\n*8\r\n$6\r\nrecord\r\n:3\r\n$7\r\npending\r\n:-1\r\n$5\r\nfacts\r\n:"
      "1\r\n"
      "$7\r\ncounter\r\n:4\r\n");
  const auto verification = ParseVerification(reply);
  ASSERT_TRUE(verification.has_value());
  EXPECT_FALSE(verification->ok);
  EXPECT_EQ(verification->sequence, 9u);
  EXPECT_EQ(verification->record_sequence, 7u);
  ASSERT_EQ(verification->slots.size(), 1u);
  EXPECT_EQ(verification->slots[0].name, "like");
  EXPECT_EQ(verification->slots[0].record, 3);
  EXPECT_EQ(verification->slots[0].pending, -1);
  EXPECT_EQ(verification->slots[0].facts, 1);
  EXPECT_EQ(verification->slots[0].counter_part, 4);
  EXPECT_FALSE(ParseVerification(Parse("-ERR no\r\n")).has_value());
  EXPECT_FALSE(ParseVerification(Parse("*2\r\n$2\r\nok\r\n:1\r\n")).has_value());
}

TEST(EntityDump, TellsSlotsAndFacts) {
  EntityDump dump;
  dump.entity = "article:42";
  dump.verification.slots.push_back({"like", 2, 1, 3, 0});
  dump.verification.slots.push_back({"view", 5, 0, 0, 4});
  dump.record = std::string("\0\0\0\3", 4);
  EntityDump::Set set;
  set.metric = "like";
  set.info.cardinality = 3;
  set.info.chunks_sparse = 1;
  set.members = {7, 18446744073709551615u};
  dump.sets.push_back(set);
  const std::string text = FormatDump(dump);
  EXPECT_NE(text.find("record    00000003\n"), std::string::npos) << text;
  EXPECT_NE(text.find("3  = facts 3 + counter part 0  (record 2, pending 1)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("(record 5, pending 0)  DRIFT\n"), std::string::npos) << text;
  EXPECT_NE(text.find("like: 3 members, 1 sparse"), std::string::npos) << text;
  EXPECT_NE(text.find("7 18446744073709551615 ...\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace tallystick
