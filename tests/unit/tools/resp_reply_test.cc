// Proves that replies are cut out of a stream right however the bytes are split, and that bytes
// which are no RESP2 are refused instead of guessed at. How: a list of replies with their bytes,
// fed whole, byte by byte and at every split point; then a list of broken streams.
#include "tools/cli/resp_reply.h"

#include <gtest/gtest.h>

#include <string>

namespace tallystick {
namespace {

RespReply One(std::string_view bytes) {
  RespReplyParser parser;
  parser.Feed(bytes);
  RespReply reply;
  const Result<bool> complete = parser.Next(&reply);
  EXPECT_TRUE(complete.has_value() && *complete) << bytes;
  EXPECT_EQ(parser.buffered(), 0u);
  return reply;
}

bool IsBroken(std::string_view bytes) {
  RespReplyParser parser;
  parser.Feed(bytes);
  RespReply reply;
  const Result<bool> first = parser.Next(&reply);
  if (first) return false;
  EXPECT_EQ(first.error().code(), StatusCode::kCorruption);
  parser.Feed("+OK\r\n");
  EXPECT_FALSE(parser.Next(&reply).has_value()) << "a broken stream must stay broken";
  return true;
}

TEST(RespReply, EveryKind) {
  EXPECT_EQ(One("+OK\r\n").text, "OK");
  EXPECT_EQ(One("+\r\n").text, "");
  const RespReply error = One("-BUSY the ring is full\r\n");
  EXPECT_TRUE(error.IsError());
  EXPECT_EQ(error.ErrorWord(), "BUSY");
  EXPECT_EQ(One(":-9223372036854775808\r\n").integer, INT64_MIN);
  EXPECT_EQ(One("$0\r\n\r\n").text, "");
  EXPECT_EQ(One("$4\r\na\r\nb\r\n").text, "a\r\nb");
  EXPECT_EQ(One("$-1\r\n").kind, RespReply::Kind::kNil);
  EXPECT_EQ(One("*-1\r\n").kind, RespReply::Kind::kNil);
  EXPECT_TRUE(One("*0\r\n").IsArray());
  const RespReply nested = One("*3\r\n*2\r\n:1\r\n*0\r\n$-1\r\n*1\r\n+x\r\n");
  ASSERT_EQ(nested.items.size(), 3u);
  EXPECT_EQ(nested.items[0].items[0].integer, 1);
  EXPECT_TRUE(nested.items[0].items[1].IsArray());
  EXPECT_EQ(nested.items[1].kind, RespReply::Kind::kNil);
  EXPECT_EQ(nested.items[2].items[0].text, "x");
}

TEST(RespReply, EverySplitPoint) {
  const std::string stream =
      "*2\r\n$3\r\nabc\r\n*2\r\n:7\r\n$-1\r\n+OK\r\n-ERR no\r\n$2\r\n\r\n\r\n";
  for (size_t split = 0; split <= stream.size(); ++split) {
    RespReplyParser parser;
    std::vector<RespReply> replies;
    const auto drain = [&] {
      RespReply reply;
      while (true) {
        const Result<bool> complete = parser.Next(&reply);
        ASSERT_TRUE(complete.has_value());
        if (!*complete) return;
        replies.push_back(std::move(reply));
      }
    };
    parser.Feed(stream.substr(0, split));
    drain();
    parser.Feed(stream.substr(split));
    drain();
    ASSERT_EQ(replies.size(), 4u) << "split at " << split;
    EXPECT_EQ(replies[0].items[0].text, "abc");
    EXPECT_EQ(replies[0].items[1].items[0].integer, 7);
    EXPECT_EQ(replies[2].text, "ERR no");
    EXPECT_EQ(replies[3].text, "\r\n");
  }
}

TEST(RespReply, ManyRepliesByteByByteKeepNothingBack) {
  RespReplyParser parser;
  std::string stream;
  for (int i = 0; i < 20000; ++i) stream += ":" + std::to_string(i) + "\r\n";
  int64_t expected = 0;
  RespReply reply;
  for (const char byte : stream) {
    parser.Feed(std::string_view(&byte, 1));
    const Result<bool> complete = parser.Next(&reply);
    ASSERT_TRUE(complete.has_value());
    if (*complete) {
      EXPECT_EQ(reply.integer, expected++);
    }
  }
  EXPECT_EQ(expected, 20000);
  EXPECT_EQ(parser.buffered(), 0u);
}

TEST(RespReply, BrokenStreams) {
  EXPECT_TRUE(IsBroken("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_TRUE(IsBroken(":12a\r\n"));
  EXPECT_TRUE(IsBroken(":\r\n"));
  EXPECT_TRUE(IsBroken(":+1\r\n"));
  EXPECT_TRUE(IsBroken("$-2\r\n"));
  EXPECT_TRUE(IsBroken("$3\r\nabcde\r\n"));
  EXPECT_TRUE(IsBroken("$99999999999\r\n"));
  EXPECT_TRUE(IsBroken("*99999999999\r\n"));
  EXPECT_TRUE(IsBroken("%1\r\n+a\r\n+b\r\n")) << "RESP3 was not asked for";
  EXPECT_TRUE(IsBroken("+" + std::string(kReplyLineBytesMax, 'x')));
  std::string deep;
  for (size_t i = 0; i <= kReplyDepthMax; ++i) deep += "*1\r\n";
  EXPECT_TRUE(IsBroken(deep));
}

TEST(RespReply, AnAnnouncedLengthAllocatesNothing) {
  RespReplyParser parser;
  parser.Feed("*60000000\r\n$500000000\r\nx");
  RespReply reply;
  const Result<bool> complete = parser.Next(&reply);
  ASSERT_TRUE(complete.has_value());
  EXPECT_FALSE(*complete);
  EXPECT_LT(parser.buffered(), 100u);
}

}  // namespace
}  // namespace tallystick
