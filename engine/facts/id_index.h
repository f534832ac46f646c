// IdIndex: ids by number and numbers by id, as small as they get. One stripe of an id dictionary.
//
// Numbers are dense and never given twice. Ids lie packed one behind the other in arenas of 4 KiB;
// of every 16th the place is known, the others are found by walking over lengths: about a quarter
// of a byte for an id. The other way is a hash table in pages (as extendible hashing has them) of
// up to 128 entries, a byte of hash and four of the number each; the id itself decides. A snowflake
// costs 9 bytes for itself and about 6 for the way to it.
//
// Numbers from `begin` to `end` exist. Those that are here are a beginning of them, which Load
// lengthens, and all that Append made since Reset; the rest is known to the store only.
//
// Pure; its owner's mutex guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tallystick {

class IdIndex {
 public:
  explicit IdIndex(uint64_t seed) : seed_(seed) { Reset(0, 0); }

  // Forgets all: the numbers begin .. end - 1 are with the store.
  void Reset(uint32_t begin, uint32_t end);
  // The number of an id that is here. O(1), about six cache misses in a large one.
  std::optional<uint32_t> Find(std::string_view packed) const;
  // Gives the next number; the id must not have one (asserted, as far as it is here). O(1).
  uint32_t Append(std::string_view packed);
  // The id of number next_to_load(), from the store.
  void Load(std::string_view packed);
  uint32_t next_to_load() const { return loaded_.end(); }
  // All of begin .. end is here.
  bool complete() const { return loaded_.end() == made_.begin(); }
  // The packed id of a number, empty when it is not here. Good until the next change.
  std::string_view Read(uint32_t number) const;

  uint32_t begin() const { return loaded_.begin(); }
  uint32_t end() const { return made_.end(); }
  size_t MemoryBytes() const;

 private:
  // Ids by number, appended only.
  class Log {
   public:
    void Reset(uint32_t begin);
    void Append(std::string_view packed);
    std::string_view Read(uint32_t number) const;
    uint32_t begin() const { return begin_; }
    uint32_t end() const { return end_; }
    size_t MemoryBytes() const;

   private:
    uint32_t begin_ = 0;
    uint32_t end_ = 0;
    uint32_t used_ = 0;  // of the last arena
    std::vector<std::unique_ptr<char[]>> arenas_;
    std::vector<uint32_t> groups_;  // place of every 16th id: arena * kArenaBytes + byte
  };
  struct Page {
    std::unique_ptr<char[]> bytes;  // room tags, then room numbers
    uint8_t count = 0;
    uint8_t room = 0;
    uint8_t depth = 0;  // bits of the hash that its entries share
  };

  uint64_t HashOf(std::string_view packed) const;
  size_t DirectoryIndex(uint64_t hash) const {
    return depth_ == 0 ? 0 : static_cast<size_t>(hash >> (64 - depth_));
  }
  void AddEntry(uint64_t hash, uint32_t number);
  static void PutEntry(Page* page, uint64_t hash, uint32_t number);
  void Split(size_t directory_index);

  uint64_t seed_;
  Log loaded_;
  Log made_;
  uint8_t depth_ = 0;
  std::vector<uint32_t> directory_;  // by the first bits of the hash: index of the page
  std::vector<Page> pages_;
};

}  // namespace tallystick
