// The words of the public interface: keys, operations, outcomes, waits.
//
// All string_views in arguments are only read during the call. Limits are named here and checked at
// the border: an argument beyond them is answered with kInvalidArgument and changes nothing.
#pragma once

#include <tallystick/status.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

inline constexpr size_t kNameBytesMax = 64;         // etype, metric, slot: [A-Za-z0-9_-]{1,64}
inline constexpr size_t kEidBytesMax = 512;         // eid: any non-empty bytes
inline constexpr size_t kPlainKeyBytesMax = 65536;  // plain keys; Redis's own limit is 512 MB
inline constexpr size_t kPlainValueBytesMax = 512u << 20;
inline constexpr uint64_t kPlainBitMax =
    4294967295;                                   // last bit offset of a plain bitmap, as in Redis
inline constexpr size_t kSlotsMax = 16;           // slots of one entity type
inline constexpr size_t kMetricsMax = 250;        // distinct metric names of one engine
inline constexpr size_t kEntityTypesMax = 60000;  // distinct entity types of one engine
inline constexpr uint32_t kChunkBits = 32768;  // uids of one chunk; chunk number = uid / kChunkBits

// What is acted on. An etype of "" is the plain keyspace: eid is then the whole key
// (up to kPlainKeyBytesMax) and only the metrics kPlainSetMetric and kPlainBitsMetric exist.
struct EntityKey {
  std::string_view etype;
  std::string_view eid;
};

// Names a fact set: all uids that did metric to the entity.
struct FactKey {
  std::string_view metric;
  std::string_view etype;
  std::string_view eid;
  EntityKey entity() const { return {etype, eid}; }
};

// A plain set (metric kPlainSetMetric) also has members that are no uids: texts, byte strings of up
// to kPlainValueBytesMax that are not the canonical decimal of an unsigned 64-bit number (which is
// a uid: "7" and 7 are one member). What speaks of uids leaves texts out, where it says nothing
// else.
inline constexpr std::string_view kPlainSetMetric = "set";
inline constexpr std::string_view kPlainBitsMetric = "bits";

inline constexpr uint64_t kNoOrdinal = UINT64_MAX;  // see Engine::FindOrdinals

// Uids first..last, both included (so that 2^64-1 can be named).
struct UidRange {
  uint64_t first = 0;
  uint64_t last = UINT64_MAX;
};

// Labels that a front end (such as the RESP server) keeps with a fact set to remember under which
// names it was written. They are joined in only by an operation that really changes a fact, persist
// with the set, and vanish when the set becomes empty. Opaque to the engine.
struct SetLabels {
  uint8_t any = 0;    // low 4 bits used: OR-ed over all changes
  uint8_t first = 0;  // 1..15: kept from the first change that gave one; 0 gives none
  friend bool operator==(const SetLabels&, const SetLabels&) = default;
};

enum class FactOpKind : uint8_t { kSet, kClear, kToggle, kHas };

struct FactOp {
  FactOpKind kind = FactOpKind::kHas;
  SetLabels labels;
  FactKey key;
  uint64_t uid = 0;
  bool is_text = false;  // about `text` and not about uid; of a plain set only
  std::string_view text = {};
};

// Members of a set; texts only of plain sets.
struct Members {
  std::vector<uint64_t> uids;
  std::vector<std::string> texts;
  size_t size() const { return uids.size() + texts.size(); }
};

// Outcome of one FactOp. When error is not kOk the other fields mean nothing and nothing changed
// (kReadOnly excepted: see Engine).
struct FactOutcome {
  StatusCode error = StatusCode::kOk;
  bool before = false;       // the fact before the operation
  bool after = false;        // and after it
  uint64_t cardinality = 0;  // members of the fact set after it, texts included
  bool changed() const { return before != after; }
};

// How long a write call waits. kDefault follows the engine's durability: kDisk in always, kJournal
// in everysec and no.
enum class WaitFor : uint8_t {
  kDefault,
  kMemory,   // the fact is visible to every thread; a crash of the process may lose it
  kJournal,  // its journal batch is handed to the operating system: survives the process
  kDisk,     // its journal batch is fsynced: survives power loss
};

struct WriteOptions {
  WaitFor wait = WaitFor::kDefault;
  // How long to wait for room in the ring before kBusy; negative: Options::busy_timeout_ms.
  int32_t busy_timeout_ms = -1;
};

// Names the changes (or, in mode always, the state) that a call saw, to wait on later with
// Engine::Wait or Engine::OnReady. Reusable: calls add to it; Clear() keeps its memory. A plain
// value, not shared between threads.
class Ticket {
 public:
  struct Entry {
    uint32_t shard;
    uint64_t sequence;
  };
  // Keeps the largest sequence seen per shard. O(1) for the shard of the last call, else
  // O(entries).
  void Add(uint32_t shard, uint64_t sequence) {
    if (!entries_.empty() && entries_.back().shard == shard) {
      if (sequence > entries_.back().sequence) entries_.back().sequence = sequence;
      return;
    }
    for (Entry& e : entries_) {
      if (e.shard == shard) {
        if (sequence > e.sequence) e.sequence = sequence;
        return;
      }
    }
    entries_.push_back({shard, sequence});
  }
  void Clear() { entries_.clear(); }
  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

enum class PlainType : uint8_t { kNone, kString, kBits, kSet };

}  // namespace tallystick
