// Proves that records written by earlier builds are still read as what they were (golden files),
// that this build still writes the same bytes, and that the examples in docs/formats are those
// bytes.
#include "engine/counts/id_record.h"
#include "engine/counts/schema.h"
#include "engine/counts/sds_record.h"
#include "engine/events/batch_codec.h"
#include "engine/facts/chunk_list.h"
#include "engine/facts/entity_image.h"
#include "engine/facts/packed_id.h"
#include "engine/facts/text_list.h"
#include "engine/storage/key_codec.h"
#include "engine/storage/meta.h"
#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include <deque>

namespace tallystick {
namespace {

JournalEvent Event(EventKind kind, uint32_t shard, uint64_t sequence, std::string_view metric,
                   std::string_view etype, std::string_view eid) {
  JournalEvent e;
  e.kind = kind;
  e.shard = shard;
  e.sequence = sequence;
  e.metric = metric;
  e.etype = etype;
  e.eid = eid;
  return e;
}

JournalEvent Flip(uint32_t shard, uint64_t sequence, std::string_view metric, std::string_view eid,
                  uint64_t uid, int64_t delta) {
  JournalEvent e = Event(EventKind::kFlip, shard, sequence, metric, "article", eid);
  e.uid = uid;
  e.delta = delta;
  e.label_any = 1;
  e.label_first = 1;
  return e;
}

void ExpectSame(const JournalEvent& a, const JournalEvent& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.label_any, b.label_any);
  EXPECT_EQ(a.label_first, b.label_first);
  EXPECT_EQ(a.shard, b.shard);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.uid, b.uid);
  EXPECT_EQ(a.delta, b.delta);
  EXPECT_EQ(a.metric, b.metric);
  EXPECT_EQ(a.etype, b.etype);
  EXPECT_EQ(a.eid, b.eid);
  EXPECT_EQ(a.payload, b.payload);
}

// Entities are told apart by the address of their id's bytes.
void CheckBatch(const std::string& name, const std::vector<JournalEvent>& events) {
  const std::string key = JournalKey(3, 1000);
  BatchBuilder builder;
  builder.Begin(3, 1000, 7, 1764547200000);
  for (const JournalEvent& e : events) {
    builder.Add(e, e.kind == EventKind::kWipe ? nullptr : e.eid.data());
  }
  const std::string written(builder.Finish(key));
  const std::string stored = golden::Read(name, written);
  EXPECT_EQ(written, stored);
  BatchHeader header;
  std::vector<JournalEvent> found;
  const Status s = DecodeBatch(key, stored, &header, &found);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(header.partition, 3u);
  EXPECT_EQ(header.first_offset, 1000u);
  EXPECT_EQ(header.epoch, 7u);
  EXPECT_EQ(header.time_ms, 1764547200000u);
  ASSERT_EQ(found.size(), events.size());
  for (size_t i = 0; i < events.size(); ++i) ExpectSame(found[i], events[i]);
}

TEST(GoldenRecords, JournalBatchExample) {
  constexpr std::string_view kNumeric = "42", kText = "x:y";
  std::vector<JournalEvent> events = {
      Flip(3, 100, "like", kNumeric, 70000, 1),
      Flip(3, 101, "like", kText, 70000, 1),
      Flip(3, 102, "like", kNumeric, 70001, 1),
      Flip(3, 103, "like", kNumeric, 70000, -1),
      Event(EventKind::kCounter, 19, 5, "view", "article", "7"),
  };
  events[4].delta = 1;
  CheckBatch("journal_batch_example", events);
  EXPECT_EQ(golden::Example("journal.md", "journal_batch_example"),
            golden::Read("journal_batch_example", ""));
}

TEST(GoldenRecords, JournalBatchOfEveryKindAndForm) {
  std::deque<std::string> texts;
  const auto keep = [&texts](std::string text) {
    return std::string_view(texts.emplace_back(std::move(text)));
  };
  std::vector<JournalEvent> events;
  uint64_t sequence = 1000;
  // 300 entities, then again: near and far references.
  std::vector<std::string_view> eids;
  for (int i = 0; i < 300; ++i) eids.push_back(keep(std::to_string(i * i * 7919)));
  for (int round = 0; round < 2; ++round) {
    for (const std::string_view eid : eids)
      events.push_back(Flip(0, sequence++, "like", eid, 5, 1));
  }
  // Every form of uid.
  for (int bit = 0; bit < 64; ++bit) {
    events.push_back(
        Flip(0, sequence++, "fav", eids[0], uint64_t{1} << bit, bit % 2 == 0 ? 1 : -1));
    events.push_back(Flip(0, sequence++, "fav", eids[0], (uint64_t{1} << bit) + 200, 1));
  }
  events.push_back(Flip(0, sequence++, "fav", eids[0], UINT64_MAX, 1));
  // Every kind.
  sequence = 1;
  const std::string_view entity = keep(std::string("a\0b", 3)), plain = keep("plain key");
  events.push_back(Event(EventKind::kCounter, 65535, sequence++, "view", "article", entity));
  events.back().delta = INT64_MIN;
  std::string reset;
  EncodeReset({{"like", 12, 0}, {"view", 0, -3}}, &reset);
  events.push_back(Event(EventKind::kReset, 65535, sequence++, "", "article", entity));
  events.back().payload = keep(reset);
  events.push_back(Event(EventKind::kBulkClear, 65535, sequence++, "like", "article", entity));
  events.back().delta = -12;
  events.back().payload = keep("a set image");
  events.push_back(Event(EventKind::kPlainString, 65535, sequence++, "", "", plain));
  events.back().uid = 1764547200000;
  events.back().payload = keep("value");
  events.push_back(Event(EventKind::kPlainDelete, 65535, sequence++, "", "", plain));
  events.push_back(Event(EventKind::kPlainLength, 65535, sequence++, "bits", "", plain));
  events.back().uid = 4096;
  events.push_back(Event(EventKind::kWipe, 65535, sequence++, "", "", ""));
  // Many metrics and types: numbers that do not fit the first byte.
  for (int i = 0; i < 40; ++i) {
    events.push_back(Flip(65535, sequence++, keep(std::string("metric") + std::to_string(i)),
                          keep(std::string("e") + std::to_string(i)), 1, 1));
    events.back().etype = keep(std::string("type") + std::to_string(i));
  }
  CheckBatch("journal_batch_all", events);
}

TEST(GoldenRecords, JournalBatchOfBulkChanges) {
  std::string change, list;
  EncodeChange(std::vector<uint64_t>{7, 8, 20}, std::vector<uint64_t>{32768}, &change);
  ChunkListWriter writer(&list);
  for (const uint64_t bit : {0u, 9u, 70000u}) writer.Append(bit);
  writer.Finish();
  std::vector<JournalEvent> events = {
      Event(EventKind::kBulkChange, 3, 100, "like", "article", "42"),
      Event(EventKind::kPlainReplace, 3, 101, "bits", "", "plain key"),
  };
  events[0].delta = 2;
  events[0].payload = change;
  events[1].uid = 8751;
  events[1].payload = list;
  CheckBatch("journal_batch_bulk", events);
}

TEST(GoldenRecords, JournalBatchOfTexts) {
  std::string uids, change, members, list;
  EncodeChange({}, std::vector<uint64_t>{7}, &uids);
  EncodeMembersChange({uids, {"alice", ""}, {"bob"}}, &change);
  ChunkListWriter writer(&list);
  writer.Append(7);
  writer.Finish();
  TextSet texts(1);
  texts.Add("carol");
  EncodeMembers(list, texts, &members);
  std::vector<JournalEvent> events = {
      Event(EventKind::kMembersChange, 3, 100, "set", "", "friends"),
      Event(EventKind::kPlainMembers, 3, 101, "set", "", "friends"),
  };
  events[0].payload = change;
  events[1].payload = members;
  CheckBatch("journal_batch_texts", events);
}

TEST(GoldenRecords, TextSetImages) {
  TextSet few(99);
  for (const char* text : {"bob", "alice", ""}) few.Add(text);
  std::string header;
  few.EncodeHeader(&header);
  EXPECT_EQ(header, golden::Read("text_set_whole", header));
  EXPECT_EQ(golden::Example("set-image.md", "text_set_whole"), header);
  // The places of texts depend on the hash and its seed: these must never change.
  TextSet many(99);
  for (int i = 0; i < 1000; ++i) many.Add("text " + std::to_string(i));
  std::string directory;
  many.EncodeHeader(&directory);
  EXPECT_EQ(directory, golden::Read("text_set_directory", directory));
  TextSet back(99);
  ASSERT_TRUE(TextSet::DecodeHeader(golden::Read("text_set_directory", ""), 99, &back));
  for (const uint64_t page : back.PagesToInstall()) {
    std::string image;
    many.EncodePage(page, &image);
    ASSERT_TRUE(back.InstallPage(page, image));
  }
  EXPECT_EQ(back.cardinality(), 1000u);
}

TEST(GoldenRecords, Ids) {
  const std::string key = IdNumberKey("users", 15, 70000);
  std::string packed;
  PackId("alice", &packed);
  const std::string number = EncodeIdNumber(key, packed);
  EXPECT_EQ(number, golden::Read("id_number", number));
  EXPECT_EQ(golden::Example("ids.md", "id_number"), number);
  const std::string id_key = IdKey("users", 2, packed);
  EXPECT_EQ(id_key, golden::Read("id_key", id_key));
  const std::string id = EncodeIdKey(id_key, 70000);
  EXPECT_EQ(id, golden::Read("id_of", id));
  IdGeneration generation;
  generation.generation = 2;
  for (uint32_t i = 0; i < kIdStripes; ++i) generation.begins[i] = i * 100;
  const std::string wiped = EncodeIdGeneration("users", generation);
  EXPECT_EQ(wiped, golden::Read("id_generation", wiped));
  const std::string spaces = EncodeIdNamespaces({{"*", "users"}, {"video", "viewers"}});
  EXPECT_EQ(spaces, golden::Read("id_namespaces", spaces));
  std::string forms;
  for (const char* text : {"0", "1765432109876543210", "00000000-0000-0000-0000-000000000005"}) {
    PackId(text, &forms);
  }
  PackId(std::string(127, 'x'), &forms);
  EXPECT_EQ(forms, golden::Read("packed_ids", forms));
}

TEST(GoldenRecords, CountRecord) {
  const std::string key = EntityStoreKey(5, "article", "42");
  CountRecord record;
  record.sequence = 300;
  record.slots = 5;
  record.values = {2, 1, 0, -1, 4294967296};
  record.counter_parts = {0, 0, 0, -1, 4294967296};
  const std::string written = EncodeCountRecord(key, record);
  const std::string stored = golden::Read("count_record", written);
  EXPECT_EQ(written, stored);
  EXPECT_EQ(golden::Example("count-record.md", "count_record"), stored);
  const Result<CountRecord> found = DecodeCountRecord(key, stored, 5);
  ASSERT_TRUE(found.has_value()) << found.error().ToString();
  EXPECT_EQ(found->sequence, 300u);
  EXPECT_EQ(found->values, record.values);
  EXPECT_EQ(found->counter_parts, record.counter_parts);

  uint32_t clamped = 0;
  EXPECT_EQ(EncodeSdsImage(SchemaSpec::Default().types[0].slots, record.values, &clamped),
            golden::Example("count-record.md", "sds_image"));
  EXPECT_EQ(clamped, 2u);
}

void CheckImage(const std::string& name, const std::string& key, const EntityImage& image) {
  const std::string written = EncodeEntityImage(key, image);
  const std::string stored = golden::Read(name, written);
  EXPECT_EQ(written, stored);
  EXPECT_EQ(golden::Example("entity-image.md", name), stored);
  EntityImage found;
  const Status s = DecodeEntityImage(key, stored, &found);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(found.sequence, image.sequence);
  EXPECT_EQ(found.generation, image.generation);
  ASSERT_EQ(found.sets.size(), image.sets.size());
  for (size_t i = 0; i < image.sets.size(); ++i) {
    EXPECT_EQ(found.sets[i].metric, image.sets[i].metric);
    EXPECT_EQ(found.sets[i].labels, image.sets[i].labels);
    EXPECT_EQ(found.sets[i].header, image.sets[i].header);
  }
  ASSERT_EQ(found.counter_parts.size(), image.counter_parts.size());
  for (size_t i = 0; i < image.counter_parts.size(); ++i) {
    EXPECT_EQ(found.counter_parts[i].slot, image.counter_parts[i].slot);
    EXPECT_EQ(found.counter_parts[i].value, image.counter_parts[i].value);
  }
  EXPECT_EQ(found.plain, image.plain);
  EXPECT_EQ(found.expire_at_ms, image.expire_at_ms);
  EXPECT_EQ(found.plain_bytes, image.plain_bytes);
  EXPECT_EQ(found.plain_value, image.plain_value);
}

TEST(GoldenRecords, EntityImages) {
  EntityImage facts;
  facts.sequence = 300;
  facts.generation = 1;
  facts.sets = {{"fav", {0, 0}, "\x01\x02"}, {"like", {3, 2}, "\x03"}};
  facts.counter_parts = {{"view", -1}};
  CheckImage("entity_image_facts", EntityStoreKey(5, "article", "42"), facts);
  EntityImage text;
  text.sequence = 9;
  text.plain = PlainType::kString;
  text.expire_at_ms = 1764547200000;
  text.plain_value = "hello";
  CheckImage("entity_image_string", EntityStoreKey(5, "", "greeting"), text);
  EntityImage bits;
  bits.sequence = 10;
  bits.sets = {{"bits", {0, 0}, "\x03"}};
  bits.plain = PlainType::kBits;
  bits.plain_bytes = 300;
  CheckImage("entity_image_bits", EntityStoreKey(5, "", "bitmap"), bits);
  EntityImage texts;
  texts.sequence = 11;
  texts.sets = {{"set", {0, 0}, std::string_view("\x01\x01\x07", 3)}};
  texts.plain = PlainType::kSet;
  texts.texts = std::string_view(
      "\x01\x05"
      "alice"
      "\x03"
      "bob");
  CheckImage("entity_image_texts", EntityStoreKey(5, "", "friends"), texts);
}

TEST(GoldenRecords, ChunkRecord) {
  const std::string key = ChunkStoreKey(5, "article", "42", "like", 1);
  const std::string written = EncodeChunkRecord(key, 300, "image");
  const std::string stored = golden::Read("chunk_record", written);
  EXPECT_EQ(written, stored);
  EXPECT_EQ(golden::Example("keys.md", "chunk_record"), stored);
  uint64_t sequence = 0;
  std::string_view image;
  ASSERT_TRUE(OpenChunkRecord(key, stored, &sequence, &image).ok());
  EXPECT_EQ(sequence, 300u);
  EXPECT_EQ(image, "image");
}

TEST(GoldenRecords, Keys) {
  for (const auto& [name, written] : {std::pair{"key_entity", EntityStoreKey(258, "article", "42")},
                                      {"key_plain", EntityStoreKey(258, "", "greeting")},
                                      {"key_chunk", ChunkStoreKey(258, "article", "42", "like", 1)},
                                      {"key_journal", JournalKey(3, 1000)}}) {
    const std::string stored = golden::Read(name, written);
    EXPECT_EQ(written, stored);
    EXPECT_EQ(golden::Example("keys.md", name), stored);
  }
}

TEST(GoldenRecords, Meta) {
  SchemaSpec spec = SchemaSpec::Default();
  spec.types.push_back(
      {"user",
       {SlotSpec{"followers", "follow", 8, true, false}, SlotSpec{"visits", "", 4, false, true}}});
  const Schema schema = Schema::Make(spec).value();
  const std::string schema_stored = golden::Read("schema", schema.Encode());
  EXPECT_EQ(schema.Encode(), schema_stored);
  EXPECT_EQ(golden::Example("meta.md", "schema"), schema_stored);
  EXPECT_EQ(Schema::Decode(schema_stored).value().spec(), schema.spec());

  DatabaseRecord database;
  database.database_id_high = 0x0123456789abcdef;
  database.database_id_low = 0xfedcba9876543210;
  database.created_ms = 1764547200000;
  database.shards = 256;
  database.partitions = 16;
  database.placement_seed = 99;
  database.schema =
      Schema::Make(SchemaSpec{{{"*", {SlotSpec{"like", "", 4, true, false}}}}}).value().Encode();
  const std::string database_stored = golden::Read("database", EncodeDatabaseRecord(database));
  EXPECT_EQ(EncodeDatabaseRecord(database), database_stored);
  EXPECT_EQ(golden::Example("meta.md", "database"), database_stored);
  const DatabaseRecord found = DecodeDatabaseRecord(database_stored).value();
  EXPECT_EQ(found.database_id_high, database.database_id_high);
  EXPECT_EQ(found.database_id_low, database.database_id_low);
  EXPECT_EQ(found.created_ms, database.created_ms);
  EXPECT_EQ(found.shards, 256u);
  EXPECT_EQ(found.partitions, 16u);
  EXPECT_EQ(found.placement_seed, 99u);
  EXPECT_EQ(found.schema, database.schema);

  const std::string epoch_stored = golden::Read("epoch", EncodeEpochRecord(300));
  EXPECT_EQ(EncodeEpochRecord(300), epoch_stored);
  EXPECT_EQ(golden::Example("meta.md", "epoch"), epoch_stored);
  EXPECT_EQ(DecodeEpochRecord(epoch_stored).value(), 300u);

  CheckpointRecord checkpoint;
  checkpoint.partition = 3;
  checkpoint.offset = 1000;
  checkpoint.shard_sequences = {0, 300};
  checkpoint.wipe_sequences = {0, 7};
  const std::string checkpoint_stored =
      golden::Read("checkpoint", EncodeCheckpointRecord(checkpoint));
  EXPECT_EQ(EncodeCheckpointRecord(checkpoint), checkpoint_stored);
  EXPECT_EQ(golden::Example("meta.md", "checkpoint"), checkpoint_stored);
  const CheckpointRecord read = DecodeCheckpointRecord(3, checkpoint_stored).value();
  EXPECT_EQ(read.offset, 1000u);
  EXPECT_EQ(read.shard_sequences, checkpoint.shard_sequences);
  EXPECT_EQ(read.wipe_sequences, checkpoint.wipe_sequences);
}

TEST(GoldenRecords, ResetPayload) {
  std::string written;
  EncodeReset({{"like", 12, 0}, {"view", 0, -3}}, &written);
  const std::string stored = golden::Read("reset_payload", written);
  EXPECT_EQ(written, stored);
  EXPECT_EQ(golden::Example("journal.md", "reset_payload"), stored);
  std::vector<ResetSlot> found;
  ASSERT_TRUE(DecodeReset(stored, &found));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].slot, "view");
  EXPECT_EQ(found[1].counter_part, -3);
}

}  // namespace
}  // namespace tallystick
