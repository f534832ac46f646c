// Offline proof of a data directory: do the stored counts equal the stored facts?
//
// Engine::Verify asks a running engine, which heals what it finds damaged when it loads it. This
// looks at what is stored, before any healing, and changes none of it (RocksDB itself may tidy its
// own files when it is opened). Per entity and slot, with the journal's tail applied to each piece
// from the sequence up to which that piece is true:
//
//   record + pending = facts + counter part, and both stored copies of the counter part agree.
//
// Facts are recounted from the members, bit by bit, not taken from stored cardinalities.
#pragma once

#include <tallystick/export.h>
#include <tallystick/result.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tallystick {

inline constexpr size_t kDriftsListedMax = 10000;
inline constexpr size_t kDamagedListedMax = 10000;

enum class DriftKind : uint8_t {
  kCount,          // the record says another number than facts and counter part
  kMissingRecord,  // the same, and there is no record at all
  kCounterPart,    // the two stored copies of the counter part differ
};

// One slot of one entity that does not add up. All numbers are as of the journal's end.
struct Drift {
  DriftKind kind = DriftKind::kCount;
  std::string etype;
  std::string eid;
  std::string slot;
  int64_t record = 0;                 // of the count record, pending events added
  int64_t facts = 0;                  // recounted members of the slot's fact set
  int64_t counter_part = 0;           // the copy in the count record
  int64_t snapshot_counter_part = 0;  // the copy in the entity's snapshot
};

struct VerifyReport {
  uint64_t entities = 0;     // with anything stored or in the journal's tail
  uint64_t fact_sets = 0;    // with a member
  uint64_t facts = 0;        // members of those, recounted
  uint64_t slots = 0;        // compared
  uint64_t plain_keys = 0;   // read and checked for damage; they have no counts
  uint64_t tail_events = 0;  // of the journal, after the checkpoints

  uint64_t drift_count = 0;
  std::vector<Drift> drifts;  // the first kDriftsListedMax
  // Stored pieces that cannot be read, or contradict each other or the journal: one sentence each.
  // An entity with a damaged piece is not compared further.
  uint64_t damaged_count = 0;
  std::vector<std::string> damaged;  // the first kDamagedListedMax

  bool ok() const { return drift_count == 0 && damaged_count == 0; }
};

// Called now and then from the calling thread: the share of the directory that is done, 0 to 1, and
// the report so far.
using VerifyProgress = std::function<void(double fraction, const VerifyReport& so_far)>;

// Takes the directory's lock for the time of the call. O(everything stored); memory: the journal's
// tail of one partition (32 bytes per event) and one entity. Errors: kLocked (a server or engine
// has the directory), kInvalidArgument (no such directory), kUnsupportedFormat, kCorruption (too
// damaged to begin: the database record or RocksDB's own files), kIoError.
TALLYSTICK_EXPORT Result<VerifyReport> VerifyDirectory(const std::string& dir,
                                                       const VerifyProgress& progress = {});

}  // namespace tallystick
