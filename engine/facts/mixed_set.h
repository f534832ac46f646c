// MixedSet: a large fact set. Each chunk is decided on its own: a chunk with many members has a
// container, the members of all other chunks lie together in one sparse set. So a set that is
// spread thinly, one that is dense, and one that is both each take the form that fits, and a set
// changes from one to the other chunk by chunk: no operation converts more than one chunk.
//
// A chunk gets a container when it is found to have 64 members, and gives it up below 32 (why
// these: docs/design/0001-fact-set-forms.md). A chunk's members are all in one place or all in the
// other.
//
// Pure; the shard's lock guards it. Chunks may be absent (see FactSet); sparse members never are.
#pragma once

#include <tallystick/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/facts/container.h"
#include "engine/facts/sorted_index.h"
#include "engine/facts/sparse_set.h"

namespace tallystick {

inline constexpr uint32_t kChunkPromoteMembers = 64;
inline constexpr uint32_t kChunkDemoteBelow = 32;
// Up to this many members a set is a single block, and a set that has become mixed makes no new
// containers; the second number takes it back to a single block.
inline constexpr uint32_t kSmallMembersMax = Block::kMembersMax;
inline constexpr uint32_t kLargeMembersMin = 129;

class MixedSet {
 public:
  MixedSet() = default;
  MixedSet(const MixedSet&) = delete;
  MixedSet& operator=(const MixedSet&) = delete;
  ~MixedSet();

  // ---- Building
  // ------------------------------------------------------------------------------------ Uids above
  // all that are sparse, in chunks without container.
  void AppendSparse(std::span<const uint64_t> ascending) { sparse_.Append(ascending); }
  // Takes the container over; none of its members may be here.
  void AddContainer(const Container& container) { chunks_.Insert(container); }
  // A chunk of an earlier snapshot that must be deleted with the next one.
  void AddStale(uint64_t chunk) { stale_.push_back(chunk); }
  // Appends the chunks that earlier snapshots wrote and no later one has deleted; may repeat some.
  void AppendSaved(std::vector<uint64_t>* chunks) const;
  // Gives containers to the sparse chunks that are crowded. O(members).
  void PromoteAll();

  // ---- As in FactSet
  // -------------------------------------------------------------------------------
  uint64_t cardinality() const { return sparse_.cardinality() + chunks_.total().members; }
  bool Contains(uint64_t uid) const;
  bool Add(uint64_t uid);
  bool Remove(uint64_t uid);
  uint64_t CardinalityIn(UidRange range) const;
  std::optional<uint64_t> Collect(uint64_t from, size_t limit, std::vector<uint64_t>* uids) const;
  std::optional<uint64_t> LastIn(UidRange range) const;
  void ReadBits(UidRange range, char* out) const;
  void RemoveRange(UidRange range, std::vector<uint64_t>* removed);
  void ChunksWithMembers(std::vector<uint64_t>* chunks) const;
  std::optional<uint64_t> FirstAbsent(UidRange range) const;
  void TakePending(std::vector<uint64_t>* changed, std::vector<uint64_t>* stale);

  // The container of a chunk, if it has one.
  std::optional<Container> Find(uint64_t chunk) const;
  // Puts back a container that Find gave and that was changed.
  void Replace(const Container& container);

  const SparseSet& sparse() const { return sparse_; }
  bool has_containers() const { return !chunks_.empty(); }
  template <typename Visit>
  void ForEachContainer(Visit visit) const {
    for (auto at = chunks_.begin(); at != chunks_.end(); at = chunks_.Next(at)) {
      visit(chunks_.At(at));
    }
  }

  // True when it is small again, all here, and (afterwards) wholly sparse. Stale chunks may remain.
  bool DissolveIfSmall();
  bool has_stale() const { return !stale_.empty(); }

  size_t MemoryBytes() const;
  bool IsValid() const;

 private:
  using Chunks = SortedIndex<Container>;

  void PromoteIfCrowded(uint64_t chunk);
  // Takes the container out of the directory, and notes it as stale when it was saved.
  Container TakeOut(Chunks::Position at);
  void Demote(Chunks::Position at);
  // The first member >= from; the first uid of an absent chunk stands for its members.
  std::optional<uint64_t> NextFrom(uint64_t from) const;

  SparseSet sparse_;
  Chunks chunks_;
  std::vector<uint64_t> stale_;  // may repeat chunks, and name some that have a container again
};

}  // namespace tallystick
