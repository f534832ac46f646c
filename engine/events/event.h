// Event: one real change, on its way from a shard to the journal and the counts.
//
// Two shapes of the same thing. `Event` is what a shard pushes into the ring: 48 bytes, names by
// pointer to the entity that it pins. `JournalEvent` is what the journal tells after decoding:
// names as bytes, valid while the decoded batch is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tallystick {

class Entity;

// Persisted in the journal: values never change meaning, new kinds are appended.
enum class EventKind : uint8_t {
  kFlip = 1,       // uid did or undid metric: delta is +1 or -1
  kCounter = 2,    // counter part of slot `metric` += delta
  kReset = 3,      // rebuild: payload holds the true (facts, counter part) per slot
  kBulkClear = 4,  // payload: the members removed from metric's set, as a set image; delta = -count
  kPlainString = 5,  // the plain key becomes the string in payload; uid = expire_at_ms (0 never)
  kPlainDelete = 6,  // the plain key is gone, whatever it was
  kPlainLength = 7,  // the plain bitmap is at least `uid` bytes long
  kWipe = 8,         // everything in the shard is gone; no entity
  // payload: the members that metric's set gained and those that it lost (EncodeChange); delta =
  // gained - lost; uid = least length in bytes afterwards, of a plain bitmap
  kBulkChange = 9,
  // the plain key becomes the set or bitmap (as metric says) of the members in payload (a chunk
  // list), whatever it was, and no longer expires; uid = length in bytes of a bitmap
  kPlainReplace = 10,
  // payload: the members, uids and texts, that a plain set gained and lost (EncodeMembersChange);
  // delta = gained - lost
  kMembersChange = 11,
  // the plain key becomes the set of the uids and texts in payload (EncodeMembers), whatever it
  // was, and no longer expires
  kPlainMembers = 12,
};
inline constexpr uint8_t kEventKindLast = 12;

struct Event {
  EventKind kind = EventKind::kFlip;
  uint8_t metric = 0;     // index of the metric (or slot) name in the engine's name table
  uint8_t label_any = 0;  // SetLabels of a flip or bulk change
  uint8_t label_first = 0;
  uint32_t shard = 0;
  uint64_t sequence = 0;  // of the shard
  uint64_t uid = 0;
  int64_t delta = 0;
  Entity* entity = nullptr;        // pinned until the event is folded; null for kWipe
  std::string* payload = nullptr;  // owned by the event until the consumer takes it; usually null
};

struct JournalEvent {
  EventKind kind = EventKind::kFlip;
  uint8_t label_any = 0;
  uint8_t label_first = 0;
  uint32_t shard = 0;
  uint64_t sequence = 0;
  uint64_t uid = 0;
  int64_t delta = 0;
  std::string_view metric;
  std::string_view etype;
  std::string_view eid;
  std::string_view payload;
};

}  // namespace tallystick
