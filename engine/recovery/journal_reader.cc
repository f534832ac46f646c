#include "engine/recovery/journal_reader.h"

#include "engine/storage/key_codec.h"

#include <string>

namespace tallystick {
namespace {

std::string PartitionBegin(uint32_t partition) {
  return JournalKey(partition, 0);
}
std::string PartitionEnd(uint32_t partition) {
  return JournalKey(partition + 1, 0);
}

Failure Hole(uint32_t partition, uint64_t expected, uint64_t found) {
  return Fail(StatusCode::kCorruption, "journal of partition " + std::to_string(partition) +
                                           ": offset " + std::to_string(expected) +
                                           " is missing, the next batch begins at " +
                                           std::to_string(found));
}

}  // namespace

Status ReadJournal(
    Store* store, uint32_t partition, uint64_t from_offset,
    const std::function<Status(const BatchHeader&, const std::vector<JournalEvent>&)>& visit) {
  const auto it = store->NewIterator(ColumnFamily::kJournal, PartitionBegin(partition),
                                     PartitionEnd(partition));
  // The batch that holds from_offset begins at or before it.
  it->SeekForPrev(JournalKey(partition, from_offset));
  if (!it->Valid()) {
    if (!it->status().ok()) return it->status();
    it->Seek(PartitionBegin(partition));
  }
  BatchHeader header;
  std::vector<JournalEvent> events;
  bool first = true;
  uint64_t expected = 0;
  for (; it->Valid(); it->Next()) {
    if (Status s = DecodeBatch(it->key(), it->value(), &header, &events); !s.ok()) return s;
    if (header.partition != partition) {
      return Status::Error(StatusCode::kCorruption, "journal batch of another partition");
    }
    if (!first && header.first_offset != expected) {
      return Hole(partition, expected, header.first_offset).value();
    }
    if (first && header.first_offset > from_offset) {
      return Hole(partition, from_offset, header.first_offset).value();
    }
    first = false;
    expected = header.end_offset();
    if (expected <= from_offset) continue;
    if (Status s = visit(header, events); !s.ok()) return s;
  }
  return it->status();
}

Result<uint64_t> JournalEnd(Store* store, uint32_t partition) {
  const std::string begin = PartitionBegin(partition), end = PartitionEnd(partition);
  // What the log brought back is newer than all files: mostly they need not be looked at.
  auto it = store->NewMemtableIterator(ColumnFamily::kJournal, begin, end);
  it->SeekForPrev(end);
  if (!it->Valid()) {
    it = store->NewIterator(ColumnFamily::kJournal, begin, end);
    it->SeekForPrev(end);
  }
  if (!it->Valid()) {
    if (Status s = it->status(); !s.ok()) return Fail(std::move(s));
    return 0;
  }
  BatchHeader header;
  if (Status s = DecodeBatchHeader(it->key(), it->value(), &header); !s.ok())
    return Fail(std::move(s));
  return header.end_offset();
}

Result<std::optional<uint64_t>> JournalBegin(Store* store, uint32_t partition) {
  const auto it = store->NewIterator(ColumnFamily::kJournal, PartitionBegin(partition),
                                     PartitionEnd(partition));
  it->Seek(PartitionBegin(partition));
  if (!it->Valid()) {
    if (Status s = it->status(); !s.ok()) return Fail(std::move(s));
    return std::optional<uint64_t>();
  }
  uint32_t found = 0;
  uint64_t offset = 0;
  if (!ParseJournalKey(it->key(), &found, &offset)) {
    return Fail(StatusCode::kCorruption, "a journal key is malformed");
  }
  return std::optional<uint64_t>(offset);
}

}  // namespace tallystick
