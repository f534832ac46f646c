// The journal's value: a packed batch of events, self-contained, checksummed with its key.
//
// Layout per byte in docs/formats/journal.md. Events are given shard by shard, in sequence order
// within a shard, so that sequences cost nothing; an entity's name stands once per batch and later
// events refer to it by index; metric names and entity types stand once per batch.
//
// Thread-safety: none; one builder per consumer, reused so that it does not allocate when warm.
#pragma once

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
  uint64_t first_offset = 0;   // of the partition; events have dense offsets from here
  uint64_t epoch = 0;          // grows by one with every opening of the directory
  uint64_t time_ms = 0;        // wall clock at commit, stands for every event of the batch
  uint32_t events = 0;
  std::vector<ShardSpan> shards;
  uint64_t end_offset() const { return first_offset + events; }
};

class BatchBuilder {
 public:
  // Starts a batch. header.events and header.shards are filled in by Add.
  void Begin(uint32_t partition, uint64_t first_offset, uint64_t epoch, uint64_t time_ms);
  // `identity` names the entity within this batch without comparing names (its address; null for
  // kWipe). Asserts that sequences of a shard are contiguous and that a shard is not left and re-entered.
  void Add(const JournalEvent& event, const void* identity);
  uint32_t events() const { return header_.events; }
  const BatchHeader& header() const { return header_; }
  size_t bytes() const;  // size so far, approximately
  // The sealed value for `key` (see OpenRecord). Valid until the next Begin.
  std::string_view Finish(std::string_view key);

 private:
  BatchHeader header_;
};

// Decodes and validates all of it; string_views point into `value`, which must outlive *events.
// kCorruption says what is wrong; kUnsupportedFormat names an unknown version.
Status DecodeBatch(std::string_view key, std::string_view value, BatchHeader* header,
                   std::vector<JournalEvent>* events);
// Only the header (the checksum is verified over everything).
Status DecodeBatchHeader(std::string_view key, std::string_view value, BatchHeader* header);

// Payload of kReset: per slot name, the number of facts and the counter part at the reset.
struct ResetSlot {
  std::string_view slot;
  int64_t facts = 0;
  int64_t counter_part = 0;
};
void EncodeReset(const std::vector<ResetSlot>& slots, std::string* payload);
bool DecodeReset(std::string_view payload, std::vector<ResetSlot>* slots);

}  // namespace tallystick
