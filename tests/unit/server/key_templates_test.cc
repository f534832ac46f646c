// Proves which keys are faces of facts and counts, which are plain, and that a key which the server
// lists is read back as the same face: by examples at every edge, and by random round trips.
#include "server/key_templates.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/test_seed.h"

namespace tallystick::server {
namespace {

TEST(KeyTemplates, Chunks) {
  const KeyView view = ClassifyKey("bm:like:article:42:7");
  EXPECT_EQ(view.face, Face::kChunk);
  EXPECT_EQ(view.metric, "like");
  EXPECT_EQ(view.etype, "article");
  EXPECT_EQ(view.eid, "42");
  EXPECT_EQ(view.chunk, 7u);
  EXPECT_EQ(view.chunk_first(), 7u * 32768);
  EXPECT_EQ(view.chunk_range().last, 8u * 32768 - 1);

  EXPECT_EQ(ClassifyKey("bm:like:article:42:chunk_7").chunk, 7u);
  EXPECT_EQ(ClassifyKey("bm:like:article:a:b:0").eid, "a:b");
  EXPECT_EQ(ClassifyKey("bm:like:{article:42}:7").eid, "42");
  EXPECT_EQ(ClassifyKey("bm:like:article:{42}:7").eid, "{42}");
  EXPECT_EQ(ClassifyKey("bm:like:article:42:562949953421311").chunk, kChunkMax);
  EXPECT_EQ(ClassifyKey("bm:like:article:42:562949953421311").chunk_range().last, UINT64_MAX);
}

TEST(KeyTemplates, WhatIsNoChunkIsPlain) {
  for (const char* key :
       {"bm:like:article:42:007", "bm:like:article:42:", "bm:like:article:42:x",
        "bm:like:article:42:562949953421312", "bm:like:article::7", "bm::article:42:7",
        "bm:like::42:7", "bm:like:article:7", "bm:like:7", "bm:", "bm:li ke:article:42:7",
        "bm:like:article:42:-1", "bm:like:article:42:chunk_", "bm:like:{article:42:7"}) {
    EXPECT_EQ(ClassifyKey(key).face, Face::kPlain) << key;
    EXPECT_EQ(ClassifyKey(key).key, key);
  }
}

TEST(KeyTemplates, LimitsOfTheParts) {
  const std::string name64(64, 'n');
  const std::string eid512(512, 'e');
  EXPECT_EQ(ClassifyKey("bm:" + name64 + ":" + name64 + ":" + eid512 + ":0").face, Face::kChunk);
  EXPECT_EQ(ClassifyKey("bm:" + name64 + "n:t:e:0").face, Face::kPlain);
  EXPECT_EQ(ClassifyKey("bm:m:t:" + eid512 + "e:0").face, Face::kPlain);
}

TEST(KeyTemplates, Records) {
  for (const char* key : {"cnt:v1:article:42", "sds:article:42", "cnt:v1:{article:42}"}) {
    const KeyView view = ClassifyKey(key);
    EXPECT_EQ(view.face, Face::kRecord) << key;
    EXPECT_EQ(view.etype, "article");
    EXPECT_EQ(view.eid, "42");
  }
  for (const char* key : {"cnt:v2:article:42", "cnt:v1:article", "sds:article:", "ucnt:7"}) {
    EXPECT_EQ(ClassifyKey(key).face, Face::kPlain) << key;
  }
}

TEST(KeyTemplates, Likes) {
  const KeyView view = ClassifyKey("comment:likes:7");
  EXPECT_EQ(view.face, Face::kLikes);
  EXPECT_EQ(view.metric, "like");
  EXPECT_EQ(view.etype, "comment");
  EXPECT_EQ(view.eid, "7");
  EXPECT_EQ(ClassifyKey("user:likes:page:2").eid, "page:2");
  EXPECT_EQ(ClassifyKey("comment:likes:").face, Face::kPlain);
  EXPECT_EQ(ClassifyKey(":likes:7").face, Face::kPlain);
  EXPECT_EQ(ClassifyKey("likes:7").face, Face::kPlain);
}

TEST(KeyTemplates, EntitiesAndFactKeys) {
  EXPECT_EQ(ParseEntity("article:42")->eid, "42");
  EXPECT_EQ(ParseEntity("{article:42}")->etype, "article");
  EXPECT_EQ(ParseEntity("article:a:b")->eid, "a:b");
  EXPECT_FALSE(ParseEntity("article"));
  EXPECT_FALSE(ParseEntity("article:"));
  EXPECT_FALSE(ParseEntity(""));
  EXPECT_EQ(ParseFactKey("like:article:42")->metric, "like");
  EXPECT_EQ(ParseFactKey("like:{article:42}")->eid, "42");
  EXPECT_FALSE(ParseFactKey("like:article"));
  EXPECT_FALSE(ParseFactKey("like"));
}

TEST(KeyTemplates, TheReservedNameIsNeitherFaceNorPlain) {
  EXPECT_EQ(ClassifyKey(kReservedKey).face, Face::kReserved);
}

TEST(KeyTemplates, PatternsThatPinAnEntity) {
  EXPECT_EQ(EntityPinnedBy("bm:like:article:42:")->eid, "42");
  EXPECT_EQ(EntityPinnedBy("bm:like:article:42:chunk_")->eid, "42");
  EXPECT_EQ(EntityPinnedBy("bm:like:article:a:b:")->eid, "a:b");
  EXPECT_FALSE(EntityPinnedBy("bm:like:article:42"));
  EXPECT_FALSE(EntityPinnedBy("bm:like:"));
  EXPECT_FALSE(EntityPinnedBy(""));
}

TEST(KeyTemplates, ListedKeysAreReadBackAsThemselves) {
  std::mt19937_64 random(TestSeed(1));
  for (int round = 0; round < 20000; ++round) {
    std::string eid;
    for (size_t i = 1 + random() % 12; i > 0; --i) eid.push_back("a0:{}_-\xff"[random() % 8]);
    const uint64_t chunk = random() >> (15 + random() % 49);
    const FactKey fact{"like", "art-1", eid};
    std::string key;
    AppendChunkKey(fact, chunk, &key);
    const KeyView view = ClassifyKey(key);
    ASSERT_EQ(view.face, Face::kChunk) << key;
    ASSERT_EQ(view.metric, fact.metric);
    ASSERT_EQ(view.etype, fact.etype);
    ASSERT_EQ(view.eid, fact.eid);
    ASSERT_EQ(view.chunk, chunk);
    key.clear();
    AppendLikesKey(fact.entity(), &key);
    ASSERT_EQ(ClassifyKey(key).face, Face::kLikes);
    ASSERT_EQ(ClassifyKey(key).eid, eid);
  }
}

}  // namespace
}  // namespace tallystick::server
