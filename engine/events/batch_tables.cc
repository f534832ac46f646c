#include "engine/events/batch_tables.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"

#include <bit>

namespace tallystick {
namespace {

constexpr size_t kFirstCapacity = 64;  // power of two

}  // namespace

NameTable::NameTable() : entries_(kFirstCapacity), seed_(reinterpret_cast<uintptr_t>(this)) {}

void NameTable::Clear() {
  size_ = 0;
  if (++stamp_ != 0) return;
  for (Entry& e : entries_) e.stamp = 0;
  stamp_ = 1;
}

uint32_t NameTable::Find(std::string_view name, bool* added) {
  *added = false;
  if (name.empty()) return 0;
  if (2 * (size_ + 1) > entries_.size()) Grow();
  const size_t mask = entries_.size() - 1;
  for (size_t i = Hash64(name, seed_) & mask;; i = (i + 1) & mask) {
    Entry& e = entries_[i];
    if (e.stamp != stamp_) {
      e.stamp = stamp_;
      e.number = ++size_;
      e.name.assign(name);
      *added = true;
      return e.number;
    }
    if (e.name == name) return e.number;
  }
}

void NameTable::Grow() {
  std::vector<Entry> old(2 * entries_.size());
  old.swap(entries_);
  const size_t mask = entries_.size() - 1;
  for (Entry& e : old) {
    if (e.stamp != stamp_) continue;
    size_t i = Hash64(e.name, seed_) & mask;
    while (entries_[i].stamp == stamp_) i = (i + 1) & mask;
    entries_[i] = std::move(e);
  }
}

NumberTable::NumberTable()
    : entries_(kFirstCapacity), shift_(64 - std::countr_zero(kFirstCapacity)) {}

void NumberTable::Clear() {
  size_ = 0;
  if (++stamp_ != 0) return;
  for (Entry& e : entries_) e.stamp = 0;
  stamp_ = 1;
}

NumberTable::Entry* NumberTable::Find(uint64_t key, bool* added) {
  if (2 * (size_ + 1) > entries_.size()) Grow();
  const size_t mask = entries_.size() - 1;
  // Fibonacci hashing: the high bits of the product depend on all bits of the key.
  for (size_t i = (key * 0x9e3779b97f4a7c15u) >> shift_;; i = (i + 1) & mask) {
    Entry& e = entries_[i];
    if (e.stamp != stamp_) {
      e = Entry{key, 0, stamp_, size_++};
      *added = true;
      return &e;
    }
    if (e.key == key) {
      *added = false;
      return &e;
    }
  }
}

void NumberTable::Grow() {
  std::vector<Entry> old(2 * entries_.size());
  old.swap(entries_);
  --shift_;
  const size_t mask = entries_.size() - 1;
  for (const Entry& e : old) {
    if (e.stamp != stamp_) continue;
    size_t i = (e.key * 0x9e3779b97f4a7c15u) >> shift_;
    while (entries_[i].stamp == stamp_) i = (i + 1) & mask;
    entries_[i] = e;
  }
}

}  // namespace tallystick
