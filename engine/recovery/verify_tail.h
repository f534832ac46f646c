// The journal's tail of one partition, event by event per entity, for the offline check.
#pragma once

#include "engine/events/event.h"
#include "engine/storage/meta.h"
#include "engine/storage/store.h"

#include <tallystick/result.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tallystick {

struct VerifyEvent {
  uint64_t sequence = 0;
  uint64_t uid = 0;
  int64_t delta = 0;
  uint32_t payload = 0;  // number of a payload of the tail
  uint16_t metric = 0;   // number of a metric or slot name of the tail
  EventKind kind = EventKind::kFlip;
};

class VerifyTail {
 public:
  using ByEntity = std::map<std::string, std::vector<VerifyEvent>, std::less<>>;

  // Reads what follows the partition's checkpoint. kCorruption: a record or batch is damaged, an
  // offset or a sequence of a shard is missing. Then nothing of the partition can be compared.
  static Result<VerifyTail> Read(Store* store, const DatabaseRecord& database, uint32_t partition);

  // By EntityStoreKey, ascending; within an entity by sequence.
  const ByEntity& by_entity() const { return by_entity_; }
  const std::string& metric(const VerifyEvent& event) const { return metrics_[event.metric]; }
  const std::string& payload(const VerifyEvent& event) const { return payloads_[event.payload]; }
  // Everything of the shard up to this sequence was wiped.
  uint64_t wipe_sequence(uint32_t shard) const { return wipe_sequences_[shard - first_shard_]; }
  // The shard's last sequence in the journal: nothing stored may claim to know more.
  uint64_t last_sequence(uint32_t shard) const { return sequences_[shard - first_shard_]; }
  uint64_t events() const { return events_; }

 private:
  Status ReadJournal(Store* store, uint32_t partition);
  Status Add(const JournalEvent& event);

  uint32_t first_shard_ = 0;
  uint64_t events_ = 0;
  uint64_t end_offset_ = 0;          // after the last event read
  std::vector<uint64_t> sequences_;  // per shard: of the last event seen
  std::vector<bool> seen_;           // per shard: an event was
  std::vector<uint64_t> wipe_sequences_;
  ByEntity by_entity_;
  std::deque<std::string> metrics_;
  std::unordered_map<std::string_view, uint16_t> metric_numbers_;  // views of metrics_
  std::deque<std::string> payloads_;
};

}  // namespace tallystick
