// Proves that the request parser reads what Redis reads, refuses what Redis refuses with its words,
// and gives the same requests however the bytes are split: by examples, by the one-byte-at-a-time
// extreme, and by random streams cut at random places.
#include "server/resp/request_parser.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/support/test_seed.h"

namespace tallystick::server {
namespace {

using Request = std::vector<std::string>;

struct Parsed {
  std::vector<Request> requests;
  std::string error;
  size_t left = 0;  // bytes not consumed
};

// Feeds `stream` in pieces of the given sizes (the last size repeats), as a connection would.
Parsed Parse(const std::string& stream, const std::vector<size_t>& pieces,
             const ParserLimits& limits = {}) {
  Parsed parsed;
  RequestParser parser;
  std::string buffer;
  std::vector<std::string_view> arguments;
  size_t fed = 0;
  for (size_t piece = 0; fed < stream.size(); ++piece) {
    const size_t size = std::min(pieces[std::min(piece, pieces.size() - 1)], stream.size() - fed);
    buffer.append(stream, fed, size);
    fed += size;
    while (true) {
      // A fresh allocation each time: nothing may point into an old buffer.
      std::vector<char> moved(buffer.begin(), buffer.end());
      size_t consumed = 0;
      const ParseOutcome outcome =
          parser.Next(moved.data(), moved.size(), limits, &consumed, &arguments);
      if (outcome == ParseOutcome::kProtocolError) {
        parsed.error = parser.error();
        return parsed;
      }
      if (outcome == ParseOutcome::kRequest) {
        parsed.requests.emplace_back(arguments.begin(), arguments.end());
      }
      // In-place unescaping may have changed only what is consumed.
      buffer.assign(moved.begin() + static_cast<std::ptrdiff_t>(consumed), moved.end());
      if (outcome == ParseOutcome::kIncomplete) break;
    }
  }
  parsed.left = buffer.size();
  return parsed;
}

Parsed ParseWhole(const std::string& stream, const ParserLimits& limits = {}) {
  return Parse(stream, {stream.size()}, limits);
}

std::string Encode(const Request& request) {
  std::string bytes = "*" + std::to_string(request.size()) + "\r\n";
  for (const std::string& argument : request) {
    bytes += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
  }
  return bytes;
}

TEST(RequestParser, ReadsArraysAndInlineInOneStream) {
  const Parsed parsed = ParseWhole("*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n  SET a b \nECHO x\r\n");
  EXPECT_EQ(parsed.requests,
            (std::vector<Request>{{"GET", "k"}, {"PING"}, {"SET", "a", "b"}, {"ECHO", "x"}}));
  EXPECT_EQ(parsed.left, 0u);
}

TEST(RequestParser, KeepsAnyBytesOfABulk) {
  const std::string all("\0\r\n*$ \xff", 7);
  EXPECT_EQ(ParseWhole(Encode({"SET", all, ""})).requests,
            (std::vector<Request>{{"SET", all, ""}}));
}

TEST(RequestParser, SkipsEmptyRequests) {
  const Parsed parsed = ParseWhole("\r\n\n \r\n*0\r\n*-1\r\n*-10\r\nPING\r\n");
  EXPECT_EQ(parsed.requests, (std::vector<Request>{{"PING"}}));
  const Parsed blank = ParseWhole("\r\n*0\r\n");
  EXPECT_TRUE(blank.requests.empty());
  EXPECT_EQ(blank.left, 0u);
}

TEST(RequestParser, UnquotesInlineWordsAsRedis) {
  const Parsed parsed = ParseWhole(
      "SET k \"a b\"\r\nECHO \"\\x41\\n\\t\\\"\\q\"\r\nECHO 'it\\'s \\n'\r\nECHO a\"b c\"\r\nECHO "
      "\"\" ''\r\n");
  EXPECT_EQ(parsed.requests, (std::vector<Request>{{"SET", "k", "a b"},
                                                   {"ECHO", "A\n\t\"q"},
                                                   {"ECHO", "it's \\n"},
                                                   {"ECHO", "ab c"},
                                                   {"ECHO", "", ""}}));
}

TEST(RequestParser, RefusesUnbalancedQuotes) {
  for (const char* line : {"SET k \"abc\r\n", "SET k 'abc\r\n", "SET k \"abc\"d\r\n", "'a'b\r\n"}) {
    EXPECT_EQ(ParseWhole(line).error, "Protocol error: unbalanced quotes in request") << line;
  }
}

TEST(RequestParser, RefusesMalformedLengthsInRedisWords) {
  for (const char* count : {"*x\r\n", "* 1\r\n", "*+1\r\n", "*01\r\n", "*\r\n", "*2147483648\r\n",
                            "*99999999999999999999\r\n", "*1\n$4\nPING\n"}) {
    EXPECT_EQ(ParseWhole(count).error, "Protocol error: invalid multibulk length") << count;
  }
  for (const char* bulk :
       {"$-1\r\n", "$+4\r\n", "$04\r\n", "$ 4\r\n", "$4x\r\n", "$\r\n", "$4\nPING\n"}) {
    EXPECT_EQ(ParseWhole(std::string("*1\r\n") + bulk).error, "Protocol error: invalid bulk length")
        << bulk;
  }
  EXPECT_EQ(ParseWhole("*1\r\n:1\r\n").error, "Protocol error: expected '$', got ':'");
  EXPECT_EQ(ParseWhole("*1\r\n$4\r\nPINGXX").error,
            "Protocol error: expected CRLF after bulk string");
}

TEST(RequestParser, HoldsEveryLimitAtItsEdge) {
  ParserLimits limits;
  limits.bulk_bytes_max = 8;
  limits.arguments_max = 3;
  EXPECT_EQ(ParseWhole(Encode({"12345678"}), limits).requests.size(), 1u);
  EXPECT_EQ(ParseWhole(Encode({"123456789"}), limits).error, "Protocol error: invalid bulk length");
  EXPECT_EQ(ParseWhole(Encode({"a", "b", "c"}), limits).requests.size(), 1u);
  EXPECT_EQ(ParseWhole(Encode({"a", "b", "c", "d"}), limits).error,
            "Protocol error: invalid multibulk length");
}

TEST(RequestParser, HoldsTighterLimitsBeforeAuthentication) {
  ParserLimits limits;
  limits.authenticated = false;
  EXPECT_EQ(ParseWhole("*10\r\n", limits).error, "");
  EXPECT_EQ(ParseWhole("*11\r\n", limits).error,
            "Protocol error: unauthenticated multibulk length");
  EXPECT_EQ(ParseWhole("*1\r\n$16384\r\n", limits).error, "");
  EXPECT_EQ(ParseWhole("*1\r\n$16385\r\n", limits).error,
            "Protocol error: unauthenticated bulk length");
}

TEST(RequestParser, EndlessLinesRunIntoALimit) {
  const std::string endless(kInlineBytesMax + 2, 'x');
  EXPECT_EQ(ParseWhole(endless).error, "Protocol error: too big inline request");
  EXPECT_EQ(ParseWhole("*" + endless).error, "Protocol error: too big mbulk count string");
  EXPECT_EQ(ParseWhole("*1\r\n$" + endless).error, "Protocol error: too big bulk count string");
  // A NUL hides the line ends behind it, as in Redis.
  const std::string hidden = std::string(1, '\0') + endless + "\r\n";
  EXPECT_EQ(ParseWhole(hidden).error, "Protocol error: too big inline request");
  EXPECT_EQ(ParseWhole("*" + hidden).error, "Protocol error: too big mbulk count string");
}

TEST(RequestParser, LongestInlineLinePasses) {
  const std::string line = "ECHO " + std::string(kInlineBytesMax - 5, 'x') + "\r\n";
  EXPECT_EQ(ParseWhole(line).requests.size(), 1u);
}

TEST(RequestParser, ARequestBeyondTheBufferLimitIsRefused) {
  ParserLimits limits;
  limits.request_bytes_max = 1000;
  limits.bulk_bytes_max = 100;
  const std::string request = Encode(Request(30, std::string(90, 'x')));
  EXPECT_EQ(Parse(request, {64}, limits).error, "Protocol error: too big request");
}

TEST(RequestParser, AnySplitGivesTheSameRequests) {
  std::mt19937_64 random(TestSeed(1));
  for (int round = 0; round < 200; ++round) {
    std::string stream;
    std::vector<Request> expected;
    const size_t count = 1 + random() % 20;
    for (size_t i = 0; i < count; ++i) {
      Request request(1 + random() % 5);
      for (std::string& argument : request) {
        argument.resize(random() % 40);
        for (char& c : argument) c = static_cast<char>(random());
      }
      if (random() % 8 == 0) stream += random() % 2 == 0 ? "\r\n" : "*0\r\n";
      if (random() % 4 == 0) {
        stream += "PING \"a\\x00b\"\r\n";
        expected.push_back({"PING", std::string("a\0b", 3)});
      }
      stream += Encode(request);
      expected.push_back(request);
    }
    std::vector<size_t> pieces;
    for (int i = 0; i < 100; ++i) pieces.push_back(1 + random() % (1 + random() % 200));
    const Parsed cut = Parse(stream, pieces);
    ASSERT_EQ(cut.error, "");
    ASSERT_EQ(cut.requests, expected);
    ASSERT_EQ(cut.left, 0u);
    ASSERT_EQ(Parse(stream, {1}).requests, expected);
  }
}

TEST(RequestParser, MissingBytesTellsHowMuchOfABulkIsToCome) {
  RequestParser parser;
  std::string bytes = "*1\r\n$100\r\nabc";
  size_t consumed = 0;
  std::vector<std::string_view> arguments;
  EXPECT_EQ(parser.Next(bytes.data(), bytes.size(), {}, &consumed, &arguments),
            ParseOutcome::kIncomplete);
  EXPECT_EQ(parser.missing_bytes(bytes.size()), 99u);
}

}  // namespace
}  // namespace tallystick::server
