// Reads a partition's journal in order and checks that it has no hole.
#pragma once

#include "engine/events/batch_codec.h"
#include "engine/storage/store.h"

#include <tallystick/result.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace tallystick {

// Calls `visit` with every batch whose events end after `from_offset`, in order. Offsets must be
// dense from batch to batch: a hole or a damaged batch is kCorruption and names partition and
// offset. The views in the events are valid during the visit. Memory: one batch.
Status ReadJournal(
    Store* store, uint32_t partition, uint64_t from_offset,
    const std::function<Status(const BatchHeader&, const std::vector<JournalEvent>&)>& visit);

// Offset after the last event, 0 for an empty journal; only the last batch is read.
Result<uint64_t> JournalEnd(Store* store, uint32_t partition);
// Offset of the first event that is kept, nullopt for an empty journal.
Result<std::optional<uint64_t>> JournalBegin(Store* store, uint32_t partition);

}  // namespace tallystick
