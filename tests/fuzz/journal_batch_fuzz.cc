// Any bytes as a journal batch: refused, or a batch that the builder takes and that comes back the
// same; the header alone agrees. Any bytes as the payload of a reset: refused, or its one encoding.
#include "engine/base/assert.h"
#include "engine/events/batch_codec.h"
#include "tests/fuzz/sealed_input.h"

#include <map>
#include <utility>

namespace tallystick {
namespace {

void ExpectSame(const JournalEvent& a, const JournalEvent& b) {
  TALLY_ASSERT(a.kind == b.kind && a.label_any == b.label_any && a.label_first == b.label_first);
  TALLY_ASSERT(a.shard == b.shard && a.sequence == b.sequence);
  TALLY_ASSERT(a.uid == b.uid && a.delta == b.delta);
  TALLY_ASSERT(a.metric == b.metric && a.etype == b.etype && a.eid == b.eid);
  TALLY_ASSERT(a.payload == b.payload);
}

std::string Rebuild(const BatchHeader& header, const std::vector<JournalEvent>& events) {
  static BatchBuilder builder;
  std::map<std::pair<std::string_view, std::string_view>, char> identities;
  builder.Begin(header.partition, header.first_offset, header.epoch, header.time_ms);
  for (const JournalEvent& e : events) {
    const void* identity = &identities[{e.etype, e.eid}];
    builder.Add(e, e.kind == EventKind::kWipe ? nullptr : identity);
  }
  return std::string(builder.Finish(fuzz::kKey));
}

void CheckBatch(std::string_view record) {
  BatchHeader header;
  std::vector<JournalEvent> events;
  const Status s = DecodeBatch(fuzz::kKey, record, &header, &events);
  BatchHeader only;
  const Status of_header = DecodeBatchHeader(fuzz::kKey, record, &only);
  TALLY_ASSERT(events.size() <= record.size());
  if (!s.ok()) {
    TALLY_ASSERT(s.code() == StatusCode::kCorruption || s.code() == StatusCode::kUnsupportedFormat);
    return;
  }
  TALLY_ASSERT(of_header.ok() && only.events == events.size());
  const std::string again = Rebuild(header, events);
  std::vector<JournalEvent> found;
  TALLY_ASSERT(DecodeBatch(fuzz::kKey, again, &only, &found).ok());
  TALLY_ASSERT(found.size() == events.size());
  for (size_t i = 0; i < events.size(); ++i) ExpectSame(found[i], events[i]);
}

void CheckReset(std::string_view payload) {
  std::vector<ResetSlot> slots;
  if (!DecodeReset(payload, &slots)) return;
  std::string again;
  EncodeReset(slots, &again);
  TALLY_ASSERT(again == payload);
}

}  // namespace
}  // namespace tallystick

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tallystick::fuzz::WithRecords(data, size, tallystick::CheckBatch);
  tallystick::CheckReset(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
