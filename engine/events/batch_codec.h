// The journal's value: a packed batch of events, self-contained, checksummed with its key.
//
// Layout per byte in docs/formats/journal.md. Events are given shard by shard, in sequence order
// within a shard, so that sequences cost nothing; an entity's name stands once per batch and later
// events refer to it by index; metric names and entity types stand once per batch.
//
// Thread-safety: none; one builder per consumer, reused so that it does not allocate when warm.
#pragma once

#include "engine/events/batch_tables.h"
#include "engine/events/event.h"

#include <tallystick/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

inline constexpr uint8_t kJournalBatchVersion = 1;

struct ShardSpan {
  uint32_t shard = 0;
  uint64_t first_sequence = 0;
  uint64_t last_sequence = 0;  // included
};

struct BatchHeader {
  uint32_t partition = 0;
  uint64_t first_offset = 0;  // of the partition; events have dense offsets from here
  uint64_t epoch = 0;         // grows by one with every opening of the directory
  uint64_t time_ms = 0;       // wall clock at commit, stands for every event of the batch
  uint32_t events = 0;
  std::vector<ShardSpan> shards;
  // Decimal text of numeric eids, which the batch holds as numbers: decoded events point into it.
  std::vector<char> eid_text;
  uint64_t end_offset() const { return first_offset + events; }
};

class BatchBuilder {
 public:
  BatchBuilder() = default;
  BatchBuilder(BatchBuilder&&) = default;
  BatchBuilder& operator=(BatchBuilder&&) = default;

  // Starts a batch. header.events and header.shards are filled in by Add.
  void Begin(uint32_t partition, uint64_t first_offset, uint64_t epoch, uint64_t time_ms);
  // `identity` names the entity within this batch without comparing names (its address; null for
  // kWipe). Asserts that sequences of a shard are contiguous, that a shard is not left and
  // re-entered, and what event.h says of each kind. Views in `event` are only read during the call.
  void Add(const JournalEvent& event, const void* identity);
  uint32_t events() const { return header_.events; }
  const BatchHeader& header() const { return header_; }
  size_t bytes() const;  // size so far, approximately
  // The sealed value for `key` (see OpenRecord). Valid until the next Begin or Finish.
  std::string_view Finish(std::string_view key);

 private:
  void EnterShard(const JournalEvent& event);
  char* Room(size_t bytes);
  uint8_t PutTemplate(const JournalEvent& event, char** p);
  uint8_t PutEntity(const JournalEvent& event, const void* identity, char** p);
  uint8_t PutUid(uint64_t uid, char** p);

  BatchHeader header_;
  std::vector<uint8_t> shard_seen_;  // by shard number
  std::string body_;                 // sections; used_ bytes of it are written
  size_t used_ = 0;
  size_t eid_text_bytes_ = 0;
  NameTable names_;
  NumberTable templates_;  // of the batch, by what they consist of
  NumberTable entities_;   // of the present section, by identity
  // The event before: most often the next one has the same metric, entity type, template or entity.
  std::string last_metric_;
  uint32_t last_metric_number_ = 0;
  std::string last_etype_;
  uint32_t last_etype_number_ = 0;
  uint64_t last_template_key_ = 0;
  uint32_t last_template_ = 0;
  const void* last_identity_ = nullptr;
  NumberTable::Entry* last_entity_ = nullptr;
  std::string value_;
};

// Decodes and validates all of it, about 60 ns per event; string_views point into `value` and into
// header->eid_text (moving *header keeps them), which must outlive *events. Memory is bounded by a
// multiple of value's size. kCorruption says what is wrong; kUnsupportedFormat names an unknown
// version or kind of event. On failure *header and *events are of no use.
Status DecodeBatch(std::string_view key, std::string_view value, BatchHeader* header,
                   std::vector<JournalEvent>* events);
// Only the header, without eid_text (the checksum is verified over everything).
Status DecodeBatchHeader(std::string_view key, std::string_view value, BatchHeader* header);

// Payload of kReset: per slot name, the number of facts and the counter part at the reset.
struct ResetSlot {
  std::string_view slot;
  int64_t facts = 0;
  int64_t counter_part = 0;
};
// Slots in the given order; asserts at most kSlotsMax valid names. Appends.
void EncodeReset(const std::vector<ResetSlot>& slots, std::string* payload);
// Takes any bytes; views point into `payload`. False for what EncodeReset did not write.
bool DecodeReset(std::string_view payload, std::vector<ResetSlot>* slots);

}  // namespace tallystick
