// Proves that patterns match as Redis's stringmatch does: by examples that fix its odd corners, and
// against a plain recursive matcher on random patterns; and that the work stays polynomial.
#include "server/glob.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/test_seed.h"

namespace tallystick::server {
namespace {

// The textbook definition over the elements * ? and literals.
bool Reference(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return Reference(pattern.substr(1), text) ||
           (!text.empty() && Reference(pattern, text.substr(1)));
  }
  if (text.empty() || (pattern[0] != '?' && pattern[0] != text[0])) return false;
  return Reference(pattern.substr(1), text.substr(1));
}

TEST(Glob, Examples) {
  EXPECT_TRUE(GlobMatch("*", ""));
  EXPECT_TRUE(GlobMatch("", ""));
  EXPECT_FALSE(GlobMatch("", "a"));
  EXPECT_FALSE(GlobMatch("?", ""));
  EXPECT_TRUE(GlobMatch("bm:like:article:42:*", "bm:like:article:42:7"));
  EXPECT_TRUE(GlobMatch("h[ae]llo", "hallo"));
  EXPECT_FALSE(GlobMatch("h[^ae]llo", "hallo"));
  EXPECT_TRUE(GlobMatch("h[a-c]llo", "hbllo"));
  EXPECT_TRUE(GlobMatch("h[c-a]llo", "hbllo"));
  EXPECT_TRUE(GlobMatch("h\\*llo", "h*llo"));
  EXPECT_FALSE(GlobMatch("h\\*llo", "hello"));
  EXPECT_TRUE(GlobMatch("a\\", "a\\"));
  EXPECT_TRUE(GlobMatch("[a", "a"));
  EXPECT_FALSE(GlobMatch("[]a]", "a"));
  EXPECT_TRUE(GlobMatch("[\\]]", "]"));
  EXPECT_TRUE(GlobMatch("A*", "abc", true));
  EXPECT_FALSE(GlobMatch("A*", "abc"));
}

TEST(Glob, AgreesWithTheDefinition) {
  std::mt19937_64 random(TestSeed(1));
  for (int round = 0; round < 20000; ++round) {
    std::string pattern;
    std::string text;
    for (size_t i = random() % 8; i > 0; --i) pattern.push_back("ab*?"[random() % 4]);
    for (size_t i = random() % 8; i > 0; --i) text.push_back("ab"[random() % 2]);
    ASSERT_EQ(GlobMatch(pattern, text), Reference(pattern, text)) << pattern << " " << text;
  }
}

TEST(Glob, ManyStarsDoNotExplode) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  pattern += "b";
  EXPECT_FALSE(GlobMatch(pattern, std::string(10000, 'a')));
}

TEST(Glob, LiteralPrefix) {
  EXPECT_EQ(GlobLiteralPrefix("bm:like:*"), "bm:like:");
  EXPECT_EQ(GlobLiteralPrefix("a\\*b?c"), "a*b");
  EXPECT_EQ(GlobLiteralPrefix("[ab]c"), "");
  EXPECT_TRUE(GlobIsLiteral("abc"));
  EXPECT_FALSE(GlobIsLiteral("a?c"));
  EXPECT_FALSE(GlobIsLiteral("a\\c"));
}

}  // namespace
}  // namespace tallystick::server
