// Proves that a batch of events of every kind comes back exactly as it was added, that boundary
// values survive, that batches stay small, and that damage, foreign keys and newer versions are
// refused. Random batches come from a generator whose entities, names and labels repeat.
#include "engine/events/batch_codec.h"

#include "engine/base/checksum.h"
#include "tests/support/damage.h"
#include "tests/support/test_seed.h"

#include <tallystick/types.h>

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace tallystick {
namespace {

constexpr std::string_view kKey = "journal key";

struct OwnedEvent {
  JournalEvent event;
  const void* identity = nullptr;
};

void ExpectSame(const JournalEvent& a, const JournalEvent& b) {
  ASSERT_EQ(a.kind, b.kind);
  ASSERT_EQ(a.label_any, b.label_any);
  ASSERT_EQ(a.label_first, b.label_first);
  ASSERT_EQ(a.shard, b.shard);
  ASSERT_EQ(a.sequence, b.sequence);
  ASSERT_EQ(a.uid, b.uid);
  ASSERT_EQ(a.delta, b.delta);
  ASSERT_EQ(a.metric, b.metric);
  ASSERT_EQ(a.etype, b.etype);
  ASSERT_EQ(a.eid, b.eid);
  ASSERT_EQ(a.payload, b.payload);
}

// Makes events whose strings it keeps.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 20; ++i) names_.push_back(std::string("name") + std::to_string(i));
  }

  std::vector<OwnedEvent> Batch(uint64_t events_max) {
    entities_.clear();
    std::vector<OwnedEvent> batch;
    const uint64_t shards = 1 + random_() % 5;
    const uint64_t names = 1 + random_() % names_.size();
    for (uint64_t s = 0; s < shards; ++s) {
      const size_t first_entity = entities_.size();
      const uint64_t entities = 1 + random_() % (random_() % 8 == 0 ? 400 : 20);
      for (uint64_t e = 0; e < entities; ++e) AddEntity(names);
      uint64_t sequence = random_() >> (random_() % 64);
      const uint64_t events = 1 + random_() % events_max;
      if (sequence > UINT64_MAX - events) sequence = 1;
      for (uint64_t i = 0; i < events; ++i) {
        const Entity& entity = entities_[first_entity + random_() % entities];
        batch.push_back({RandomEvent(entity, names), &entity});
        batch.back().event.shard = static_cast<uint32_t>(13 * s);
        batch.back().event.sequence = sequence++;
        if (batch.back().event.kind == EventKind::kWipe) {
          batch.back().identity = nullptr;
          batch.back().event.etype = batch.back().event.eid = std::string_view();
        }
      }
    }
    return batch;
  }

 private:
  struct Entity {
    std::string etype;
    std::string eid;
    uint64_t uid = 0;
  };

  void AddEntity(uint64_t names) {
    Entity entity;
    if (random_() % 8 != 0) entity.etype = names_[random_() % names];
    switch (random_() % 4) {
      case 0:
        entity.eid = std::to_string(random_() >> (random_() % 64));
        break;
      case 1:
        entity.eid = std::to_string(random_() % 1000);
        break;
      case 2:
        entity.eid = std::string("0") + std::to_string(random_() % 1000);
        break;
      default:
        entity.eid = std::string(1 + random_() % 30, static_cast<char>(random_()));
        break;
    }
    entities_.push_back(entity);
  }

  JournalEvent RandomEvent(const Entity& entity, uint64_t names) {
    JournalEvent e;
    e.kind = random_() % 4 != 0 ? EventKind::kFlip
                                : static_cast<EventKind>(1 + random_() % kEventKindLast);
    e.label_any = static_cast<uint8_t>(random_() % 4 == 0 ? random_() % 16 : 0);
    e.label_first = static_cast<uint8_t>(random_() % 4 == 0 ? random_() % 16 : 0);
    if (random_() % 16 != 0) e.metric = names_[random_() % names];
    e.etype = entity.etype;
    e.eid = entity.eid;
    e.uid = random_() % 4 == 0 ? random_() % 1000 : random_() >> (random_() % 64);
    if (e.kind == EventKind::kFlip) {
      e.delta = random_() % 2 == 0 ? 1 : -1;
      return e;
    }
    if (random_() % 2 == 0) e.uid = 0;
    e.delta = random_() % 2 == 0 ? static_cast<int64_t>(random_() % 3) - 1
                                 : static_cast<int64_t>(random_()) >> (random_() % 64);
    if (random_() % 2 == 0) {
      payloads_.push_back(std::string(random_() % 200, static_cast<char>(random_())));
      e.payload = payloads_.back();
    }
    return e;
  }

  std::mt19937_64 random_;
  std::vector<std::string> names_;
  std::deque<Entity> entities_;
  std::deque<std::string> payloads_;
};

// Adds with copies of the strings that die at once: views are only read during the call.
void AddAll(const std::vector<OwnedEvent>& batch, BatchBuilder* builder) {
  for (const OwnedEvent& owned : batch) {
    JournalEvent e = owned.event;
    const std::string metric(e.metric), etype(e.etype), eid(e.eid), payload(e.payload);
    e.metric = metric;
    e.etype = etype;
    e.eid = eid;
    e.payload = payload;
    builder->Add(e, owned.identity);
  }
}

TEST(BatchCodec, RandomRoundTrip) {
  Generator generator(TestSeed(20261130));
  BatchBuilder builder;
  BatchHeader header;
  std::vector<JournalEvent> events;
  for (int round = 0; round < 400; ++round) {
    const std::vector<OwnedEvent> batch = generator.Batch(round % 10 == 0 ? 3000 : 50);
    builder.Begin(7, 1000, 3, 1764547200000);
    AddAll(batch, &builder);
    ASSERT_EQ(builder.events(), batch.size());
    const std::string value(builder.Finish(kKey));
    const Status s = DecodeBatch(kKey, value, &header, &events);
    ASSERT_TRUE(s.ok()) << s.ToString();
    ASSERT_EQ(header.partition, 7u);
    ASSERT_EQ(header.first_offset, 1000u);
    ASSERT_EQ(header.epoch, 3u);
    ASSERT_EQ(header.time_ms, 1764547200000u);
    ASSERT_EQ(header.end_offset(), 1000 + batch.size());
    ASSERT_EQ(events.size(), batch.size());
    for (size_t i = 0; i < batch.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(ExpectSame(events[i], batch[i].event)) << "event " << i;
    }
    BatchHeader only;
    ASSERT_TRUE(DecodeBatchHeader(kKey, value, &only).ok());
    ASSERT_EQ(only.events, batch.size());
    ASSERT_EQ(only.shards.size(), builder.header().shards.size());
    for (size_t i = 0; i < only.shards.size(); ++i) {
      ASSERT_EQ(only.shards[i].shard, builder.header().shards[i].shard);
      ASSERT_EQ(only.shards[i].first_sequence, builder.header().shards[i].first_sequence);
      ASSERT_EQ(only.shards[i].last_sequence, builder.header().shards[i].last_sequence);
    }
    BatchHeader moved = std::move(header);  // keeps what the events point into
    ASSERT_NO_FATAL_FAILURE(ExpectSame(events.front(), batch.front().event));
  }
}

TEST(BatchCodec, AnEmptyBatch) {
  BatchBuilder builder;
  builder.Begin(0, 0, 0, 0);
  const std::string value(builder.Finish(kKey));
  BatchHeader header;
  std::vector<JournalEvent> events(3);
  ASSERT_TRUE(DecodeBatch(kKey, value, &header, &events).ok());
  EXPECT_TRUE(events.empty());
  EXPECT_TRUE(header.shards.empty());
}

TEST(BatchCodec, BoundaryValues) {
  std::vector<std::string> eids = {"0",
                                   "00",
                                   "18446744073709551615",
                                   "18446744073709551616",
                                   "-1",
                                   "1e3",
                                   std::string("4\0002", 3),
                                   std::string(512, '\0'),
                                   std::string(512, '9'),
                                   "255",
                                   "256",
                                   "+1"};
  std::vector<OwnedEvent> batch;
  uint64_t sequence = UINT64_MAX - 4 * eids.size();
  const auto add = [&](size_t i, EventKind kind, uint64_t uid, int64_t delta) {
    JournalEvent e;
    e.kind = kind;
    e.shard = 65535;
    e.sequence = ++sequence;
    e.uid = uid;
    e.delta = delta;
    e.metric = "like";
    e.etype = "article";
    e.eid = eids[i];
    batch.push_back({e, &eids[i]});
  };
  for (size_t i = 0; i < eids.size(); ++i) {
    add(i, EventKind::kFlip, UINT64_MAX, 1);
    add(i, EventKind::kFlip, 0, -1);
    add(i, EventKind::kCounter, UINT64_MAX, INT64_MIN);
    add(i, EventKind::kCounter, 0, INT64_MAX);
  }
  ASSERT_EQ(sequence, UINT64_MAX);
  BatchBuilder builder;
  builder.Begin(65535, UINT64_MAX - batch.size(), UINT64_MAX, UINT64_MAX);
  AddAll(batch, &builder);
  const std::string value(builder.Finish(kKey));
  BatchHeader header;
  std::vector<JournalEvent> events;
  const Status s = DecodeBatch(kKey, value, &header, &events);
  ASSERT_TRUE(s.ok()) << s.ToString();
  ASSERT_EQ(events.size(), batch.size());
  for (size_t i = 0; i < batch.size(); ++i) ExpectSame(events[i], batch[i].event);
}

TEST(BatchCodec, UidsAroundEveryFormsEdge) {
  std::vector<uint64_t> uids;
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t around : {0u, 1u, 2u}) uids.push_back((uint64_t{1} << bit) + around - 1);
  }
  std::vector<OwnedEvent> batch;
  const int entity = 0;
  std::mt19937_64 random(TestSeed(20261130));
  for (int i = 0; i < 20000; ++i) {
    JournalEvent e;
    e.sequence = static_cast<uint64_t>(i) + 1;
    e.uid = uids[random() % uids.size()];
    if (random() % 2 == 0) e.uid = ~e.uid;
    e.delta = 1;
    e.metric = "like";
    e.etype = "article";
    e.eid = "42";
    batch.push_back({e, &entity});
  }
  BatchBuilder builder;
  builder.Begin(0, 0, 0, 0);
  AddAll(batch, &builder);
  const std::string value(builder.Finish(kKey));
  BatchHeader header;
  std::vector<JournalEvent> events;
  ASSERT_TRUE(DecodeBatch(kKey, value, &header, &events).ok());
  for (size_t i = 0; i < batch.size(); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectSame(events[i], batch[i].event));
  }
}

TEST(BatchCodec, DamageIsRefused) {
  Generator generator(TestSeed(20261130));
  BatchBuilder builder;
  builder.Begin(1, 2, 3, 4);
  AddAll(generator.Batch(12), &builder);
  const std::string value(builder.Finish(kKey));
  BatchHeader header;
  std::vector<JournalEvent> events;
  const auto accepts = [&](std::string_view bytes) {
    const Status s = DecodeBatch(kKey, bytes, &header, &events);
    const Status of_header = DecodeBatchHeader(kKey, bytes, &header);
    EXPECT_TRUE(of_header.ok() || !s.ok());
    return s.ok();
  };
  testing::ExpectEveryDamageRefused(value, accepts);
  testing::ExpectNoHarmBehindChecksum(kKey, value, accepts);
  EXPECT_EQ(DecodeBatch("other key", value, &header, &events).code(), StatusCode::kCorruption);
}

TEST(BatchCodec, NewerVersionsAndKindsAreRefusedByName) {
  BatchHeader header;
  std::vector<JournalEvent> events;
  std::string value("\x02whatever");
  SealRecord(kKey, &value);
  Status s = DecodeBatch(kKey, value, &header, &events);
  EXPECT_EQ(s.code(), StatusCode::kUnsupportedFormat);
  EXPECT_EQ(s.message(), "journal batch: version 2 was found, the newest understood is 1");
  EXPECT_EQ(DecodeBatchHeader(kKey, value, &header).code(), StatusCode::kUnsupportedFormat);

  // version, partition, offset, epoch, time, text, 1 section (shard 0, sequence 1, 0 more), event.
  value.assign("\x01\0\0\0\0\0\x01\0\x01\0\0\xc8\0\0", 14);
  SealRecord(kKey, &value);
  s = DecodeBatch(kKey, value, &header, &events);
  EXPECT_EQ(s.code(), StatusCode::kUnsupportedFormat);
  EXPECT_EQ(s.message(),
            "kind of event in a journal batch: version 200 was found, the newest understood is " +
                std::to_string(kEventKindLast));
}

TEST(BatchCodec, LikesAreSmall) {
  std::mt19937_64 random(TestSeed(20261130));
  const auto bytes_per_event = [&](uint64_t entities) {
    std::vector<std::string> eids;
    for (uint64_t i = 0; i < entities; ++i) eids.push_back(std::to_string(1000000 + i));
    BatchBuilder builder;
    builder.Begin(3, 123456789, 12, 1764547200000);
    constexpr uint64_t kEvents = 4096;
    for (uint64_t i = 0; i < kEvents; ++i) {
      JournalEvent e;
      e.sequence = 1000000 + i;
      e.uid = random() & UINT32_MAX;
      e.delta = 1;
      e.metric = "like";
      e.etype = "article";
      const std::string& eid = eids[i % entities];
      e.eid = eid;
      builder.Add(e, &eid);
    }
    return static_cast<double>(builder.Finish(kKey).size()) / kEvents;
  };
  EXPECT_LE(bytes_per_event(4096), 9.1);  // every like another entity
  EXPECT_LE(bytes_per_event(100), 6.3);
  EXPECT_LE(bytes_per_event(1), 5.1);
}

using BatchCodecDeath = ::testing::Test;

TEST(BatchCodecDeath, OrderIsAsserted) {
  const auto event = [](uint32_t shard, uint64_t sequence) {
    JournalEvent e;
    e.shard = shard;
    e.sequence = sequence;
    e.delta = 1;
    e.metric = "like";
    e.etype = "article";
    e.eid = "42";
    return e;
  };
  const int entity = 0;
  BatchBuilder builder;
  builder.Begin(0, 0, 0, 0);
  builder.Add(event(1, 5), &entity);
  EXPECT_DEATH(builder.Add(event(1, 7), &entity), "sequence");
  EXPECT_DEATH(builder.Add(event(1, 5), &entity), "sequence");
  builder.Add(event(2, 1), &entity);
  EXPECT_DEATH(builder.Add(event(1, 6), &entity), "shard_seen_");
  JournalEvent no_change = event(2, 2);
  no_change.delta = 0;
  EXPECT_DEATH(builder.Add(no_change, &entity), "delta");
}

}  // namespace
}  // namespace tallystick
