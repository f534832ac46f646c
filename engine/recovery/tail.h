// The journal's events as recovery keeps them, and what they do to facts.
#pragma once

#include "engine/counts/activity.h"
#include "engine/counts/catalog.h"

#include <tallystick/result.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

// An event of the journal's tail that waits for its entity to be loaded.
struct TailEvent {
  EventKind kind = EventKind::kFlip;
  uint8_t metric = 0;
  uint8_t label_any = 0;
  uint8_t label_first = 0;
  uint64_t sequence = 0;
  uint64_t uid = 0;
  int64_t delta = 0;
  std::unique_ptr<std::string> payload;  // null: empty, as of nearly all
  std::string_view payload_view() const { return payload ? *payload : std::string_view(); }
};

// A million events may wait for their entities to be loaded: packed they take about 10 bytes each.
// Appends; `after` is the sequence of the last event that was packed into *packed, 0 at first.
void PackTail(std::span<const TailEvent> events, uint64_t after, std::string* packed);
std::vector<TailEvent> UnpackTail(std::string_view packed);

// Appends events of one entity; names become catalog numbers. kCorruption when a name is invalid or
// there are too many.
Status AppendTail(Catalog* catalog, std::span<const JournalEvent> events,
                  std::vector<TailEvent>* tail);

// Applies the events whose sequence is > after, in order. `fetch_chunk` brings an absent chunk (it
// calls FactSet::InstallChunk). An event that changes nothing contradicts the state: kCorruption.
Status ApplyTail(const Catalog& catalog, const EtypeInfo& etype, const std::vector<TailEvent>& tail,
                 uint64_t after,
                 const std::function<Status(MetricSet&, uint64_t chunk)>& fetch_chunk,
                 FactState* facts);

}  // namespace tallystick
