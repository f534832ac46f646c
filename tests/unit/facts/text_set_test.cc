// Proves that a TextSet behaves as std::set<std::string> does, however it grows and shrinks, and
// that its images (header and pages, written and deleted as TakePending says) bring it back. How: a
// model, a map of stored pages as the disk, random operations with texts of all lengths. Damaged
// images are refused or give a valid set.
#include "engine/facts/text_set.h"
#include "engine/facts/text_list.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace tallystick {
namespace {

constexpr uint64_t kHashSeed = 77;

class TextSetTest : public testing::Test {
 protected:
  uint64_t Below(uint64_t n) { return random_() % n; }
  std::string Text() {
    std::string text;
    const uint64_t roll = Below(100);
    if (roll < 2) text = std::string(Below(5000), 'x');
    if (roll == 2) return std::string();
    if (roll < 10) {
      for (uint64_t i = Below(20); i > 0; --i) text.push_back(static_cast<char>(Below(256)));
    }
    return text + "name" + std::to_string(Below(universe_));
  }
  std::string At(uint64_t rank) const {
    std::vector<std::string> texts;
    set_.At(std::vector<uint64_t>{rank}, &texts);
    return texts.at(0);
  }
  // As a snapshot does: deletes, then writes.
  void Save() {
    std::vector<uint64_t> changed, stale;
    set_.TakePending(&changed, &stale);
    for (const uint64_t page : stale) disk_.erase(page);
    for (const uint64_t page : changed) {
      disk_[page].clear();
      set_.EncodePage(page, &disk_[page]);
    }
    header_.clear();
    if (!set_.empty()) set_.EncodeHeader(&header_);
  }
  void Load() {
    Save();
    set_ = TextSet(kHashSeed);
    size_t pages = 0;
    if (!header_.empty()) {
      ASSERT_TRUE(TextSet::DecodeHeader(header_, kHashSeed, &set_));
      for (const uint64_t page : set_.PagesToInstall()) {
        ASSERT_EQ(disk_.count(page), 1u);
        ASSERT_TRUE(set_.InstallPage(page, disk_[page]));
        ++pages;
      }
    }
    ASSERT_EQ(pages, disk_.size()) << "a page was left behind";
  }
  void Check() {
    ASSERT_TRUE(set_.IsValid());
    ASSERT_EQ(set_.cardinality(), model_.size());
    std::vector<TextSet::Found> found;
    std::optional<uint64_t> from = 0;
    while (from) from = set_.Collect(*from, 1 + Below(300), &found);
    std::set<std::string> seen;
    for (const auto& [hash, text] : found) ASSERT_TRUE(seen.insert(text).second);
    ASSERT_EQ(seen, model_);
    if (model_.size() < 200) {
      std::set<std::string> ranked;
      for (uint64_t rank = 0; rank < model_.size(); ++rank) ranked.insert(At(rank));
      ASSERT_EQ(ranked, model_);
    }
  }

  const uint64_t seed_ = TestSeed(20251);
  std::mt19937_64 random_{seed_};
  uint64_t universe_ = 100;
  TextSet set_{kHashSeed};
  std::set<std::string> model_;
  std::map<uint64_t, std::string> disk_;
  std::string header_;
};

TEST_F(TextSetTest, BehavesAsASetOfStrings) {
  for (int round = 0; round < 40; ++round) {
    universe_ = uint64_t{10} << Below(12);
    const uint64_t adds = 20 + Below(75);  // in a hundred
    for (int i = 0; i < 3000; ++i) {
      const std::string text = Text();
      ASSERT_EQ(set_.Contains(text), model_.count(text) == 1);
      if (Below(100) < adds) {
        ASSERT_EQ(set_.Add(text), model_.insert(text).second);
      } else if (Below(2) == 0 && !model_.empty()) {
        const std::string gone = At(Below(set_.cardinality()));
        ASSERT_EQ(model_.erase(gone), 1u);
        ASSERT_TRUE(set_.Remove(gone));
      } else {
        ASSERT_EQ(set_.Remove(text), model_.erase(text) == 1);
      }
      if (Below(1000) == 0) Save();
      if (Below(1500) == 0) Load();
      if (HasFatalFailure()) return;
    }
    Check();
    if (HasFatalFailure()) return;
  }
}

TEST_F(TextSetTest, ShrinksToNothing) {
  for (int i = 0; i < 20000; ++i) {
    const std::string text = "name" + std::to_string(i);
    set_.Add(text);
    model_.insert(text);
  }
  std::vector<uint64_t> ranks{0, 5, 5, 199, 200, 10000, 19999};
  std::vector<std::string> some;
  set_.At(ranks, &some);
  ASSERT_EQ(some.size(), ranks.size());
  EXPECT_EQ(some[1], some[2]);
  EXPECT_EQ(std::set<std::string>(some.begin(), some.end()).size(), 6u);
  Load();
  ASSERT_NO_FATAL_FAILURE(Check());
  EXPECT_GT(disk_.size(), 50u);
  const size_t large = set_.MemoryBytes();
  EXPECT_LT(large / 20000, 16u);  // 9 bytes of text each
  for (const std::string& text : model_) ASSERT_TRUE(set_.Remove(text));
  model_.clear();
  ASSERT_NO_FATAL_FAILURE(Check());
  std::vector<uint64_t> stored;
  set_.StoredPages(&stored);
  EXPECT_EQ(std::set<uint64_t>(stored.begin(), stored.end()).size(), disk_.size());
  ASSERT_NO_FATAL_FAILURE(Load());
  EXPECT_TRUE(disk_.empty());
  EXPECT_LT(set_.MemoryBytes(), 300u);
}

TEST_F(TextSetTest, AWalkSeesWhatStays) {
  std::set<std::string> stay;
  for (int i = 0; i < 3000; ++i) {
    stay.insert("stays" + std::to_string(i));
    set_.Add("stays" + std::to_string(i));
  }
  std::multiset<std::string> seen;
  std::optional<uint64_t> from = 0;
  while (from) {
    std::vector<TextSet::Found> found;
    from = set_.Collect(*from, 10, &found);
    for (const auto& [hash, text] : found) {
      if (stay.count(text) != 0) seen.insert(text);
    }
    for (int i = 0; i < 200; ++i) {
      const std::string text = "comes" + std::to_string(Below(20000));
      static_cast<void>(Below(2) == 0 ? set_.Add(text) : set_.Remove(text));
    }
  }
  ASSERT_EQ(seen.size(), stay.size());
  EXPECT_TRUE(std::equal(seen.begin(), seen.end(), stay.begin()));
}

TEST_F(TextSetTest, DamagedImagesAreRefusedOrValid) {
  for (int round = 0; round < 300; ++round) {
    set_ = TextSet(kHashSeed);
    const uint64_t members = 1 + Below(round % 2 == 0 ? 20 : 1000);
    for (uint64_t i = 0; i < members; ++i) set_.Add(Text());
    disk_.clear();
    Save();
    std::string header = header_;
    std::map<uint64_t, std::string> disk = disk_;
    std::string* damaged = &header;
    if (!disk.empty() && Below(2) == 0) {
      damaged = &std::next(disk.begin(), static_cast<std::ptrdiff_t>(Below(disk.size())))->second;
    }
    for (uint64_t flips = 1 + Below(3); flips > 0 && !damaged->empty(); --flips) {
      const size_t at = Below(damaged->size());
      switch (Below(3)) {
        case 0:
          (*damaged)[at] = static_cast<char>(Below(256));
          break;
        case 1:
          damaged->erase(at, 1 + Below(4));
          break;
        default:
          damaged->insert(at, 1, static_cast<char>(Below(256)));
      }
    }
    TextSet read(kHashSeed);
    if (!TextSet::DecodeHeader(header, kHashSeed, &read)) {
      ASSERT_TRUE(read.empty());
      continue;
    }
    bool whole = true;
    for (const uint64_t page : read.PagesToInstall()) {
      whole = whole && disk.count(page) == 1 && read.InstallPage(page, disk[page]);
    }
    ASSERT_TRUE(!whole || read.IsValid());
  }
}

TEST_F(TextSetTest, PayloadsComeBack) {
  const std::string empty, alice("alice"), zero(1, '\0'), longer(300, 'y');
  MembersChange change{"uids", {alice, empty}, {zero, longer}};
  std::string bytes;
  EncodeMembersChange(change, &bytes);
  MembersChange read;
  ASSERT_TRUE(DecodeMembersChange(bytes, &read));
  EXPECT_EQ(read.uids, "uids");
  EXPECT_EQ(read.added, change.added);
  EXPECT_EQ(read.removed, change.removed);
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    static_cast<void>(DecodeMembersChange(std::string_view(bytes).substr(0, cut), &read));
  }
  EXPECT_FALSE(DecodeMembersChange("", &read));
  EXPECT_FALSE(DecodeMembersChange(std::string_view("\0\x7f", 2), &read));

  for (int i = 0; i < 2000; ++i) set_.Add(Text());
  bytes.clear();
  EncodeMembers("list", set_, &bytes);
  TextSet back(kHashSeed);
  std::string_view list;
  ASSERT_TRUE(DecodeMembers(bytes, &list, &back));
  EXPECT_EQ(list, "list");
  EXPECT_EQ(back.cardinality(), set_.cardinality());
  bytes += std::string("\0", 1);  // the empty text, perhaps for the second time
  TextSet again(kHashSeed);
  EXPECT_EQ(DecodeMembers(bytes, &list, &again), !set_.Contains(""));
}

}  // namespace
}  // namespace tallystick
