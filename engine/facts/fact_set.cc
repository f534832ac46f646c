#include "engine/facts/fact_set.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "engine/base/assert.h"
#include "engine/facts/set_image.h"

namespace tallystick {
namespace {

constexpr size_t kPromote = 64;
constexpr size_t kDemote = 32;

uint64_t ChunkOf(uint64_t uid) {
  return uid / kChunkBits;
}
uint64_t FirstOf(uint64_t chunk) {
  return chunk * kChunkBits;
}
uint64_t LastOf(uint64_t chunk) {
  return chunk * kChunkBits + (kChunkBits - 1);
}

struct Chunk {
  std::set<uint64_t> members;
  uint64_t cardinality = 0;
  bool absent = false;
  bool changed = false;
  bool saved = false;
};

using ChunkEntry = std::map<uint64_t, Chunk>::value_type;

// Members of crowded chunks by chunk, all others together.
struct Rep {
  uint64_t cardinality = 0;
  std::set<uint64_t> loose;
  std::map<uint64_t, Chunk> chunks;
  std::set<uint64_t> stale;
};

uint64_t CountIn(const std::set<uint64_t>& members, UidRange range) {
  const auto end = members.upper_bound(range.last);
  return static_cast<uint64_t>(std::distance(members.lower_bound(range.first), end));
}

Rep* Get(const uint64_t* words) {
  return std::bit_cast<Rep*>(words[0]);
}

Rep* Make(uint64_t* words) {
  if (words[0] == 0) words[0] = std::bit_cast<uint64_t>(new Rep);
  return Get(words);
}

// Visits the member sets that range touches, absent ones included (with null members).
template <typename Visit>
void ForEachPart(const Rep& rep, UidRange range, Visit visit) {
  visit(&rep.loose, static_cast<const ChunkEntry*>(nullptr));
  for (auto it = rep.chunks.lower_bound(ChunkOf(range.first));
       it != rep.chunks.end() && it->first <= ChunkOf(range.last); ++it) {
    visit(&it->second.members, &*it);
  }
}

std::vector<uint64_t> MembersIn(const Rep& rep, UidRange range) {
  std::vector<uint64_t> found;
  ForEachPart(rep, range, [&](const std::set<uint64_t>* members, const ChunkEntry* chunk) {
    TALLY_ASSERT(chunk == nullptr || !chunk->second.absent);
    found.insert(found.end(), members->lower_bound(range.first), members->upper_bound(range.last));
  });
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

FactSet::FactSet() = default;
FactSet::FactSet(FactSet&& other) noexcept {
  std::swap(words_, other.words_);
}
FactSet& FactSet::operator=(FactSet&& other) noexcept {
  if (this != &other) {
    delete Get(words_);
    words_[0] = std::exchange(other.words_[0], 0);
  }
  return *this;
}
FactSet::~FactSet() {
  delete Get(words_);
}

bool FactSet::Contains(uint64_t uid) const {
  const Rep* rep = Get(words_);
  if (rep == nullptr) return false;
  const auto it = rep->chunks.find(ChunkOf(uid));
  if (it == rep->chunks.end()) return rep->loose.count(uid) != 0;
  TALLY_ASSERT(!it->second.absent);
  return it->second.members.count(uid) != 0;
}

bool FactSet::Add(uint64_t uid) {
  Rep* rep = Make(words_);
  const auto it = rep->chunks.find(ChunkOf(uid));
  if (it != rep->chunks.end()) {
    TALLY_ASSERT(!it->second.absent);
    if (!it->second.members.insert(uid).second) return false;
    ++it->second.cardinality;
    it->second.changed = true;
  } else {
    if (!rep->loose.insert(uid).second) return false;
    const auto first = rep->loose.lower_bound(FirstOf(ChunkOf(uid)));
    const auto end = rep->loose.upper_bound(LastOf(ChunkOf(uid)));
    const auto n = static_cast<size_t>(std::distance(first, end));
    if (n >= kPromote) {
      Chunk& chunk = rep->chunks[ChunkOf(uid)];
      chunk.members.insert(first, end);
      chunk.cardinality = n;
      chunk.changed = true;
      rep->loose.erase(first, end);
    }
  }
  ++rep->cardinality;
  return true;
}

bool FactSet::Remove(uint64_t uid) {
  Rep* rep = Get(words_);
  if (rep == nullptr) return false;
  const auto it = rep->chunks.find(ChunkOf(uid));
  if (it != rep->chunks.end()) {
    Chunk& chunk = it->second;
    TALLY_ASSERT(!chunk.absent);
    if (chunk.members.erase(uid) == 0) return false;
    --chunk.cardinality;
    chunk.changed = true;
    if (chunk.cardinality < kDemote) {
      rep->loose.insert(chunk.members.begin(), chunk.members.end());
      if (chunk.saved) rep->stale.insert(it->first);
      rep->chunks.erase(it);
    }
  } else if (rep->loose.erase(uid) == 0) {
    return false;
  }
  --rep->cardinality;
  return true;
}

uint64_t FactSet::cardinality() const {
  const Rep* rep = Get(words_);
  return rep == nullptr ? 0 : rep->cardinality;
}

uint64_t FactSet::CardinalityIn(UidRange range) const {
  const Rep* rep = Get(words_);
  if (rep == nullptr || range.first > range.last) return 0;
  uint64_t count = 0;
  ForEachPart(*rep, range, [&](const std::set<uint64_t>* members, const ChunkEntry* chunk) {
    if (chunk != nullptr && chunk->second.absent) {
      TALLY_ASSERT(range.first <= FirstOf(chunk->first) && range.last >= LastOf(chunk->first));
      count += chunk->second.cardinality;
    } else {
      count += CountIn(*members, range);
    }
  });
  return count;
}

std::optional<uint64_t> FactSet::Collect(uint64_t from, size_t limit,
                                         std::vector<uint64_t>* uids) const {
  const Rep* rep = Get(words_);
  if (rep == nullptr) return std::nullopt;
  auto loose = rep->loose.lower_bound(from);
  auto chunk = rep->chunks.lower_bound(ChunkOf(from));
  while (true) {
    const bool chunk_next =
        chunk != rep->chunks.end() && (loose == rep->loose.end() || ChunkOf(*loose) > chunk->first);
    if (!chunk_next && loose == rep->loose.end()) return std::nullopt;
    if (!chunk_next) {
      if (limit == 0) return *loose;
      uids->push_back(*loose++);
      --limit;
      continue;
    }
    if (limit == 0 && from <= FirstOf(chunk->first)) return FirstOf(chunk->first);
    TALLY_ASSERT(!chunk->second.absent);
    for (auto it = chunk->second.members.lower_bound(from); it != chunk->second.members.end();
         ++it) {
      if (limit == 0) return *it;
      uids->push_back(*it);
      --limit;
    }
    ++chunk;
  }
}

std::optional<uint64_t> FactSet::LastIn(UidRange range) const {
  const Rep* rep = Get(words_);
  if (rep == nullptr || range.first > range.last) return std::nullopt;
  const std::vector<uint64_t> members = MembersIn(*rep, range);
  if (members.empty()) return std::nullopt;
  return members.back();
}

void FactSet::ReadBits(uint64_t first, size_t bytes, char* out) const {
  const Rep* rep = Get(words_);
  if (rep == nullptr || bytes == 0) return;
  const uint64_t span = uint64_t{bytes} * 8 - 1;
  const uint64_t last = span > UINT64_MAX - first ? UINT64_MAX : first + span;
  for (const uint64_t uid : MembersIn(*rep, {first, last})) {
    char& byte = out[(uid - first) / 8];
    byte = static_cast<char>(static_cast<uint8_t>(byte) | (0x80u >> ((uid - first) % 8)));
  }
}

uint64_t FactSet::RemoveRange(UidRange range, std::vector<uint64_t>* removed) {
  const Rep* rep = Get(words_);
  if (rep == nullptr || range.first > range.last) return 0;
  const std::vector<uint64_t> members = MembersIn(*rep, range);
  for (const uint64_t uid : members) Remove(uid);
  removed->insert(removed->end(), members.begin(), members.end());
  return members.size();
}

void FactSet::ChunksWithMembers(std::vector<uint64_t>* chunks) const {
  const Rep* rep = Get(words_);
  if (rep == nullptr) return;
  std::set<uint64_t> found;
  for (const uint64_t uid : rep->loose) found.insert(ChunkOf(uid));
  for (const auto& [number, chunk] : rep->chunks) found.insert(number);
  chunks->insert(chunks->end(), found.begin(), found.end());
}

std::optional<uint64_t> FactSet::FirstAbsent(UidRange range) const {
  const Rep* rep = Get(words_);
  if (rep == nullptr || range.first > range.last) return std::nullopt;
  for (auto it = rep->chunks.lower_bound(ChunkOf(range.first));
       it != rep->chunks.end() && it->first <= ChunkOf(range.last); ++it) {
    if (it->second.absent) return it->first;
  }
  return std::nullopt;
}

std::optional<uint64_t> FactSet::FirstAbsentPartly(UidRange range) const {
  if (range.first > range.last) return std::nullopt;
  const uint64_t head = ChunkOf(range.first);
  const uint64_t tail = ChunkOf(range.last);
  const bool head_partly =
      range.first > FirstOf(head) || (head == tail && range.last < LastOf(head));
  const bool tail_partly = range.last < LastOf(tail);
  if (head_partly && IsAbsent(head)) return head;
  if (tail_partly && IsAbsent(tail)) return tail;
  return std::nullopt;
}

bool FactSet::IsAbsent(uint64_t chunk) const {
  const Rep* rep = Get(words_);
  if (rep == nullptr) return false;
  const auto it = rep->chunks.find(chunk);
  return it != rep->chunks.end() && it->second.absent;
}

bool FactSet::InstallChunk(uint64_t chunk, std::string_view image) {
  TALLY_ASSERT(IsAbsent(chunk));
  Chunk& target = Get(words_)->chunks[chunk];
  ChunkBits bits;
  if (!DecodeChunkBits(image, &bits)) return false;
  std::set<uint64_t> members;
  for (uint64_t bit = 0; bit < kChunkBits; ++bit) {
    if ((bits[bit / 64] >> (bit % 64) & 1) != 0) members.insert(FirstOf(chunk) + bit);
  }
  if (members.size() != target.cardinality) return false;
  target.members = std::move(members);
  target.absent = false;
  return true;
}

void FactSet::EncodeHeader(std::string* out) const {
  static const Rep kNone;
  const Rep* rep = Get(words_);
  if (rep == nullptr) rep = &kNone;
  out->push_back(static_cast<char>(rep->chunks.empty() ? kHeaderImageMembers : kHeaderImageChunks));
  AppendAscending({rep->loose.begin(), rep->loose.end()}, out);
  if (rep->chunks.empty()) return;
  std::vector<uint64_t> numbers;
  for (const auto& [number, chunk] : rep->chunks) numbers.push_back(number);
  AppendAscending(numbers, out);
  for (const auto& [number, chunk] : rep->chunks) PutVarint(out, chunk.cardinality - 1);
}

bool FactSet::DecodeHeader(std::string_view bytes, FactSet* set) {
  *set = FactSet();
  ByteReader reader(bytes);
  uint8_t form = 0;
  if (!reader.U8(&form)) return false;
  if (form != kHeaderImageMembers && form != kHeaderImageChunks) return false;
  FactSet decoded;
  Rep* rep = Make(decoded.words_);
  std::vector<uint64_t> uids;
  if (!ReadAscending(&reader, &uids)) return false;
  rep->loose.insert(uids.begin(), uids.end());
  rep->cardinality = uids.size();
  if (form == kHeaderImageChunks) {
    std::vector<uint64_t> numbers;
    if (!ReadAscending(&reader, &numbers) || numbers.empty()) return false;
    if (numbers.back() > kChunkNumberMax) return false;
    for (const uint64_t number : numbers) {
      uint64_t less_one = 0;
      if (!reader.Varint(&less_one) || less_one >= kChunkBits) return false;
      if (CountIn(rep->loose, {FirstOf(number), LastOf(number)}) != 0) return false;
      Chunk& chunk = rep->chunks[number];
      chunk.cardinality = less_one + 1;
      chunk.absent = true;
      chunk.saved = true;
      rep->cardinality += chunk.cardinality;
    }
  }
  if (!reader.ok() || reader.remaining() != 0) return false;
  *set = std::move(decoded);
  return true;
}

void FactSet::EncodeChunk(uint64_t chunk, std::string* out) const {
  const Rep* rep = Get(words_);
  TALLY_ASSERT(rep != nullptr);
  const auto it = rep->chunks.find(chunk);
  TALLY_ASSERT(it != rep->chunks.end() && !it->second.absent);
  ChunkBits bits{};
  for (const uint64_t uid : it->second.members) {
    bits[uid % kChunkBits / 64] |= uint64_t{1} << (uid % 64);
  }
  EncodeChunkBits(bits, out);
}

void FactSet::TakePending(std::vector<uint64_t>* changed, std::vector<uint64_t>* stale) {
  Rep* rep = Get(words_);
  if (rep == nullptr) return;
  for (auto& [number, chunk] : rep->chunks) {
    if (chunk.changed) changed->push_back(number);
    chunk.changed = false;
    chunk.saved = true;
    rep->stale.erase(number);
  }
  stale->insert(stale->end(), rep->stale.begin(), rep->stale.end());
  rep->stale.clear();
}

FactSet::Shape FactSet::shape() const {
  Shape shape;
  const Rep* rep = Get(words_);
  if (rep == nullptr) return shape;
  shape.sparse = rep->loose.empty() ? 0 : 1;
  for (const auto& [number, chunk] : rep->chunks) ++(chunk.absent ? shape.absent : shape.array);
  return shape;
}

bool FactSet::chunked() const {
  const Rep* rep = Get(words_);
  return rep != nullptr && !rep->chunks.empty();
}

size_t FactSet::MemoryBytes() const {
  const Rep* rep = Get(words_);
  return rep == nullptr ? 0 : sizeof(Rep) + 48 * rep->cardinality;
}

bool FactSet::IsValid() const {
  const Rep* rep = Get(words_);
  if (rep == nullptr) return true;
  uint64_t total = rep->loose.size();
  for (const auto& [number, chunk] : rep->chunks) {
    if (!chunk.absent && chunk.members.size() != chunk.cardinality) return false;
    total += chunk.cardinality;
  }
  return total == rep->cardinality;
}

}  // namespace tallystick
