// FactSet: the uids that did one metric to one entity.
//
// Pure: no lock, no I/O, no clock. The shard's lock guards it. The well-filled chunks (32,768 uids
// each) of a large set are kept, saved and loaded one by one; a chunk may be on disk only
// ("absent"): its cardinality is known, its members are not. Calls that need members of an absent
// chunk must not be made (asserted): ask FirstAbsent first and install what it names. Adding and
// removing need no other chunk than the uid's own.
//
// 16 bytes, because there are millions: a few members inside, else a pointer to a block of up to
// 256 sorted members, to the container of the only chunk, or to a MixedSet. Forms and thresholds:
// docs/design/0001-fact-set-forms.md; bytes of the images: docs/formats/set-image.md.
#pragma once

#include <tallystick/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/facts/chunk_bits.h"

namespace tallystick {

struct BlockPlace;
class Block;
class Container;
class MixedSet;

class FactSet {
 public:
  FactSet();
  FactSet(FactSet&& other) noexcept;  // leaves other empty
  FactSet& operator=(FactSet&& other) noexcept;
  ~FactSet();

  // ---- Members. O(log n) at most; no operation converts more than one chunk or one small block.
  // ----
  bool Contains(uint64_t uid) const;
  bool Add(uint64_t uid);        // true when it was not there
  bool Remove(uint64_t uid);     // true when it was there
  uint64_t cardinality() const;  // O(1)
  bool empty() const { return cardinality() == 0; }
  void Prefetch() const;  // asks the cache for what the next look-up needs first
  // Members within first..last (included). Whole chunks cost O(1); O(log n + 4 KiB) otherwise.
  uint64_t CardinalityIn(UidRange range) const;
  // Appends up to limit members >= from, ascending; the uid to continue from, or nullopt at the
  // end.
  std::optional<uint64_t> Collect(uint64_t from, size_t limit, std::vector<uint64_t>* uids) const;
  std::optional<uint64_t> LastIn(UidRange range) const;
  // ORs the members first .. first+8*bytes-1 into out, most significant bit first (Redis's order).
  void ReadBits(uint64_t first, size_t bytes, char* out) const;
  // Removes what lies in range and appends it to *removed, ascending.
  uint64_t RemoveRange(UidRange range, std::vector<uint64_t>* removed);
  // Numbers of the chunks that have a member, ascending; absent ones included.
  void ChunksWithMembers(std::vector<uint64_t>* chunks) const;
  // The bits of one chunk. O(4 KiB).
  void ReadChunk(uint64_t chunk, ChunkBits* bits) const;
  // Adds a chunk's members, `count` of them, above all that are here. O(4 KiB) amortized.
  void AppendChunk(uint64_t chunk, const ChunkBits& bits, uint32_t count);
  // Becomes `next`, which no snapshot knows, and returns what was here. What snapshots wrote of
  // that is deleted by the next one. O(chunks).
  FactSet Exchange(FactSet next);

  // ---- Chunks on disk
  // -------------------------------------------------------------------------------- The first
  // absent chunk that range touches, if any.
  std::optional<uint64_t> FirstAbsent(UidRange range) const;
  // The same, but chunks that range covers whole do not count (their cardinality is enough).
  std::optional<uint64_t> FirstAbsentPartly(UidRange range) const;
  bool IsAbsent(uint64_t chunk) const;
  // Brings an absent chunk's members; `image` is what EncodeChunk wrote. False (and unchanged) when
  // the bytes are not a valid image of that chunk with the cardinality that the directory says.
  bool InstallChunk(uint64_t chunk, std::string_view image);

  // ---- Images
  // ---------------------------------------------------------------------------------------- The
  // members that are in no container (of a small or thinly spread set: all), and the directory of
  // the chunks that have one (chunk number, cardinality).
  void EncodeHeader(std::string* out) const;
  // Validates untrusted bytes; every chunk of a chunked set is then absent. False leaves *set
  // empty.
  static bool DecodeHeader(std::string_view bytes, FactSet* set);
  // Members of one resident chunk that has a container, such as TakePending names.
  void EncodeChunk(uint64_t chunk, std::string* out) const;
  // What the next snapshot must write (chunks that changed since the last call) and delete (chunks
  // that an earlier snapshot wrote and that are gone, because they are empty or the form changed).
  // Forgets both: the caller writes them together with the header.
  void TakePending(std::vector<uint64_t>* changed, std::vector<uint64_t>* stale);

  // ---- Looking in
  // ------------------------------------------------------------------------------------ Containers
  // by form, packed ones as arrays; sparse counts 1 when some members are in no chunk's container.
  struct Shape {
    uint64_t sparse = 0, array = 0, roaring = 0, dense = 0, absent = 0;
  };
  Shape shape() const;
  bool chunked() const;        // some chunk has a container
  size_t MemoryBytes() const;  // beyond sizeof(FactSet); what the allocator holds, approximately
  bool IsValid() const;  // invariant 6: cardinalities equal popcounts, order, forms; O(members)

 private:
  enum class Form : uint8_t;
  struct SmallMembers;

  Form form() const;
  bool is_container() const;
  void Forget();  // becomes empty without freeing anything
  Container container() const;
  void SetContainer(const Container& container);
  MixedSet* mixed() const;
  void SetMixed(MixedSet* mixed);
  Block* block() const;
  uint32_t block_count() const;
  uint64_t block_base() const;
  BlockPlace FindInBlock(uint64_t uid) const;
  void SetBlock(Block* block, uint32_t count, uint64_t base);

  void ReadSmall(SmallMembers* members) const;
  void SetSmall(std::span<const uint64_t> ascending);
  bool AddToInline(uint64_t uid);
  bool AddToBlock(uint64_t uid);
  bool RemoveFromSmall(uint64_t uid);
  void BecomeLarge(std::span<const uint64_t> ascending);
  void ContainerToMixed();
  void SmallToMixed();
  void ShrinkIfSmall();

  // words_[0]: form in the top three bits; the rest as inline_uids.h or Container has it, or an
  // eighth of a block's base, or nothing. words_[1]: members, or pointer (48 bits) and count (16).
  uint64_t words_[2] = {0, 0};
};
static_assert(sizeof(FactSet) == 16);

// The members of a bulk change, as journal payload: validated on decode.
void EncodeUids(const std::vector<uint64_t>& ascending, std::string* out);
bool DecodeUids(std::string_view bytes, std::vector<uint64_t>* ascending);

}  // namespace tallystick
