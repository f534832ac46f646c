#include "engine/facts/id_index.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"
#include "engine/facts/heap.h"
#include "engine/facts/packed_id.h"

#include <algorithm>
#include <cstring>

namespace tallystick {
namespace {

constexpr uint32_t kArenaBytes = 4096;
constexpr uint32_t kGroupIds = 16;
constexpr uint8_t kPageEntries = 128;
constexpr uint8_t kPageStep = 8;  // a page grows by so many entries
constexpr uint8_t kDepthMax = 28;

uint8_t TagOf(uint64_t hash) {
  return static_cast<uint8_t>(hash);
}

}  // namespace

// ---- Log
// -------------------------------------------------------------------------------------------------

void IdIndex::Log::Reset(uint32_t begin) {
  *this = Log();
  begin_ = end_ = begin;
}

void IdIndex::Log::Append(std::string_view packed) {
  TALLY_ASSERT(packed.size() <= kPackedIdBytesMax && end_ < UINT32_MAX);
  // The byte behind the last id of a full arena says that the next one begins there.
  if (arenas_.empty() || used_ + packed.size() + 1 > kArenaBytes) {
    if (!arenas_.empty()) arenas_.back()[used_] = kNoPackedId;
    if (arenas_.size() == arenas_.capacity()) arenas_.reserve(arenas_.size() * 9 / 8 + 1);
    arenas_.emplace_back(new char[kArenaBytes]);
    used_ = 0;
  }
  if ((end_ - begin_) % kGroupIds == 0) {
    if (groups_.size() == groups_.capacity()) groups_.reserve(groups_.size() * 9 / 8 + 4);
    TALLY_ASSERT(arenas_.size() <= UINT32_MAX / kArenaBytes);
    groups_.push_back(static_cast<uint32_t>((arenas_.size() - 1) * kArenaBytes) + used_);
  }
  std::memcpy(arenas_.back().get() + used_, packed.data(), packed.size());
  used_ += static_cast<uint32_t>(packed.size());
  ++end_;
}

std::string_view IdIndex::Log::Read(uint32_t number) const {
  TALLY_ASSERT(number >= begin_ && number < end_);
  const uint32_t index = number - begin_;
  const uint32_t place = groups_[index / kGroupIds];
  uint32_t arena = place / kArenaBytes;
  const char* at = arenas_[arena].get() + place % kArenaBytes;
  for (uint32_t skip = index % kGroupIds;; --skip) {
    if (arena + 1 < arenas_.size() && *at == kNoPackedId) at = arenas_[++arena].get();
    const size_t bytes = PackedIdBytes(at);
    if (skip == 0) return {at, bytes};
    at += bytes;
  }
}

size_t IdIndex::Log::MemoryBytes() const {
  size_t bytes = arenas_.size() * HeapBytes(kArenaBytes);
  if (arenas_.capacity() > 0) bytes += HeapBytes(arenas_.capacity() * sizeof(arenas_[0]));
  if (groups_.capacity() > 0) bytes += HeapBytes(groups_.capacity() * sizeof(uint32_t));
  return bytes;
}

// ---- Index
// -----------------------------------------------------------------------------------------------

uint64_t IdIndex::HashOf(std::string_view packed) const {
  return Hash64(packed, seed_);
}

void IdIndex::Reset(uint32_t begin, uint32_t end) {
  TALLY_ASSERT(begin <= end);
  loaded_.Reset(begin);
  made_.Reset(end);
  depth_ = 0;
  directory_.assign(1, 0);
  pages_.clear();
  pages_.emplace_back();
}

std::string_view IdIndex::Read(uint32_t number) const {
  if (number >= made_.begin() && number < made_.end()) return made_.Read(number);
  if (number >= loaded_.begin() && number < loaded_.end()) return loaded_.Read(number);
  return {};
}

std::optional<uint32_t> IdIndex::Find(std::string_view packed) const {
  const uint64_t hash = HashOf(packed);
  const Page& page = pages_[directory_[DirectoryIndex(hash)]];
  const char* const tags = page.bytes.get();
  for (size_t i = 0; i < page.count; ++i) {
    const void* found = std::memchr(tags + i, TagOf(hash), page.count - i);
    if (found == nullptr) return std::nullopt;
    i = static_cast<size_t>(static_cast<const char*>(found) - tags);
    uint32_t number = 0;
    std::memcpy(&number, tags + page.room + i * sizeof(number), sizeof(number));
    if (Read(number) == packed) return number;
  }
  return std::nullopt;
}

void IdIndex::PutEntry(Page* page, uint64_t hash, uint32_t number) {
  if (page->count == page->room) {
    const uint8_t room = static_cast<uint8_t>(page->room + kPageStep);
    std::unique_ptr<char[]> larger(new char[room * (1 + sizeof(number))]);
    if (page->count > 0) {
      std::memcpy(larger.get(), page->bytes.get(), page->count);
      std::memcpy(larger.get() + room, page->bytes.get() + page->room,
                  page->count * sizeof(number));
    }
    page->bytes = std::move(larger);
    page->room = room;
  }
  page->bytes[page->count] = static_cast<char>(TagOf(hash));
  std::memcpy(page->bytes.get() + page->room + page->count * sizeof(number), &number,
              sizeof(number));
  ++page->count;
}

void IdIndex::Split(size_t directory_index) {
  const uint32_t low_index = directory_[directory_index];
  if (pages_[low_index].depth == depth_) {
    TALLY_ASSERT(depth_ < kDepthMax);
    std::vector<uint32_t> doubled(directory_.size() * 2);
    for (size_t i = 0; i < doubled.size(); ++i) doubled[i] = directory_[i / 2];
    directory_ = std::move(doubled);
    ++depth_;
    directory_index *= 2;
  }
  if (pages_.size() == pages_.capacity()) pages_.reserve(pages_.size() * 9 / 8 + 1);
  const Page whole = std::move(pages_[low_index]);
  Page low, high;
  low.depth = high.depth = static_cast<uint8_t>(whole.depth + 1);
  for (size_t i = 0; i < whole.count; ++i) {
    uint32_t number = 0;
    std::memcpy(&number, whole.bytes.get() + whole.room + i * sizeof(number), sizeof(number));
    const uint64_t hash = HashOf(Read(number));
    PutEntry(((hash >> (64 - low.depth)) & 1) != 0 ? &high : &low, hash, number);
  }
  const auto high_index = static_cast<uint32_t>(pages_.size());
  // Entries of the directory that share the page's bits: the second half of them goes to `high`.
  const size_t span = size_t{1} << (depth_ - whole.depth);
  const size_t first = directory_index / span * span;
  for (size_t i = first + span / 2; i < first + span; ++i) directory_[i] = high_index;
  pages_[low_index] = std::move(low);
  pages_.push_back(std::move(high));
}

void IdIndex::AddEntry(uint64_t hash, uint32_t number) {
  while (pages_[directory_[DirectoryIndex(hash)]].count == kPageEntries) {
    Split(DirectoryIndex(hash));
  }
  PutEntry(&pages_[directory_[DirectoryIndex(hash)]], hash, number);
}

uint32_t IdIndex::Append(std::string_view packed) {
  TALLY_DCHECK(!Find(packed));
  const uint32_t number = made_.end();
  made_.Append(packed);
  AddEntry(HashOf(packed), number);
  return number;
}

void IdIndex::Load(std::string_view packed) {
  TALLY_ASSERT(!complete());
  const uint32_t number = loaded_.end();
  loaded_.Append(packed);
  AddEntry(HashOf(packed), number);
}

size_t IdIndex::MemoryBytes() const {
  size_t bytes = sizeof(IdIndex) + loaded_.MemoryBytes() + made_.MemoryBytes();
  bytes += HeapBytes(directory_.capacity() * sizeof(uint32_t));
  bytes += HeapBytes(pages_.capacity() * sizeof(Page));
  for (const Page& page : pages_) {
    if (page.room > 0) bytes += HeapBytes(page.room * (1 + sizeof(uint32_t)));
  }
  return bytes;
}

}  // namespace tallystick
