// The tables of a journal batch under construction: which names, event templates and entities it
// has defined. Open addressing with linear probing; reused for ever, so that nothing is allocated
// when warm: an entry belongs to the present batch (or section) when it carries its stamp.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

// Byte strings numbered from 1 in order of first use; "" is number 0.
class NameTable {
 public:
  NameTable();
  void Clear();
  // The number of `name`; *added says that it is new. O(1), compares bytes.
  uint32_t Find(std::string_view name, bool* added);

 private:
  struct Entry {
    uint32_t stamp = 0;
    uint32_t number = 0;
    std::string name;  // keeps its memory from batch to batch
  };
  void Grow();

  std::vector<Entry> entries_;
  uint64_t seed_;  // differs from run to run: entity types come from outside
  uint32_t stamp_ = 1;
  uint32_t size_ = 0;
};

// 64-bit keys numbered from 0 in order of first use, each with the last uid that was seen with it.
class NumberTable {
 public:
  struct Entry {
    uint64_t key = 0;
    uint64_t last_uid = 0;
    uint32_t stamp = 0;
    uint32_t number = 0;
  };
  NumberTable();
  void Clear();
  // The entry of `key`; *added says that it is new. Valid until the next call. O(1).
  Entry* Find(uint64_t key, bool* added);
  uint32_t size() const { return size_; }

 private:
  void Grow();

  std::vector<Entry> entries_;
  uint32_t shift_;
  uint32_t stamp_ = 1;
  uint32_t size_ = 0;
};

}  // namespace tallystick
