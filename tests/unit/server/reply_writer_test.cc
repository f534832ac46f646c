// Proves the bytes of every reply form in RESP2 and RESP3, by examples.
#include "server/resp/reply_writer.h"

#include <gtest/gtest.h>

namespace tallystick::server {
namespace {

template <typename Write>
std::string Written(int protocol, Write write) {
  std::string out;
  ReplyWriter writer(&out, protocol);
  write(writer);
  return out;
}

TEST(ReplyWriter, FormsThatAreTheSameInBothProtocols) {
  for (int protocol : {2, 3}) {
    EXPECT_EQ(Written(protocol, [](ReplyWriter& w) { w.Ok(); }), "+OK\r\n");
    EXPECT_EQ(Written(protocol, [](ReplyWriter& w) { w.Simple("PONG"); }), "+PONG\r\n");
    EXPECT_EQ(Written(protocol, [](ReplyWriter& w) { w.Integer(0); }), ":0\r\n");
    EXPECT_EQ(Written(protocol, [](ReplyWriter& w) { w.Integer(1); }), ":1\r\n");
    EXPECT_EQ(Written(protocol, [](ReplyWriter& w) { w.Integer(INT64_MIN); }),
              ":-9223372036854775808\r\n");
    EXPECT_EQ(Written(protocol, [](ReplyWriter& w) { w.Unsigned(UINT64_MAX); }),
              ":9223372036854775807\r\n");
    EXPECT_EQ(Written(protocol, [](ReplyWriter& w) { w.Bulk(""); }), "$0\r\n\r\n");
    EXPECT_EQ(Written(protocol, [](ReplyWriter& w) { w.Bulk("a\r\nb"); }), "$4\r\na\r\nb\r\n");
    EXPECT_EQ(Written(protocol, [](ReplyWriter& w) { w.BulkNumber(UINT64_MAX); }),
              "$20\r\n18446744073709551615\r\n");
    EXPECT_EQ(Written(protocol, [](ReplyWriter& w) { w.Array(3); }), "*3\r\n");
  }
}

TEST(ReplyWriter, FormsThatDiffer) {
  const auto null = [](ReplyWriter& w) { w.Null(); };
  EXPECT_EQ(Written(2, null), "$-1\r\n");
  EXPECT_EQ(Written(3, null), "_\r\n");
  const auto null_array = [](ReplyWriter& w) { w.NullArray(); };
  EXPECT_EQ(Written(2, null_array), "*-1\r\n");
  EXPECT_EQ(Written(3, null_array), "_\r\n");
  const auto map = [](ReplyWriter& w) { w.Map(2); };
  EXPECT_EQ(Written(2, map), "*4\r\n");
  EXPECT_EQ(Written(3, map), "%2\r\n");
  const auto set = [](ReplyWriter& w) { w.Set(2); };
  EXPECT_EQ(Written(2, set), "*2\r\n");
  EXPECT_EQ(Written(3, set), "~2\r\n");
  const auto verbatim = [](ReplyWriter& w) { w.Verbatim("hi"); };
  EXPECT_EQ(Written(2, verbatim), "$2\r\nhi\r\n");
  EXPECT_EQ(Written(3, verbatim), "=6\r\ntxt:hi\r\n");
}

TEST(ReplyWriter, AnErrorIsOneLineWhateverIsInIt) {
  EXPECT_EQ(Written(2, [](ReplyWriter& w) { w.Error("ERR a\r\nb"); }), "-ERR a  b\r\n");
}

TEST(ReplyWriter, TruncateTakesBackWhatWasWritten) {
  EXPECT_EQ(Written(2,
                    [](ReplyWriter& w) {
                      w.Ok();
                      const size_t begin = w.size();
                      w.Array(2);
                      w.Integer(1);
                      w.Truncate(begin);
                      w.Error("ERR no");
                    }),
            "+OK\r\n-ERR no\r\n");
}

}  // namespace
}  // namespace tallystick::server
