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
