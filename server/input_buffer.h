// InputBuffer: received bytes of one client that are not yet consumed.
//
// Grows only when received bytes have filled it (capacity at most doubles), so a client that
// announces much and sends little costs little. Gives memory back when it is empty again. Not
// thread-safe.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory>

namespace tallystick::server {

class InputBuffer {
 public:
  static constexpr size_t kInitialBytes = 4096;
  static constexpr size_t kKeptBytesMax = 64 * 1024;  // kept by a client whose buffer is empty

  // What is not consumed. Mutable: the parser unescapes inline words in place.
  char* data() { return bytes_.get() + begin_; }
  size_t size() const { return end_ - begin_; }
  // The last read took all the room that there was, so more may be waiting.
  bool is_full() const { return end_ == capacity_; }

  void Consume(size_t bytes) {
    assert(bytes <= size());
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Room for the next read: a part of the buffer, valid until the next call. Views into data() end.
  struct Room {
    char* data;
    size_t size;
  };
  Room Reserve() {
    if (size() == 0 && capacity_ > kKeptBytesMax) {
      bytes_.reset();
      capacity_ = 0;
    }
    if (begin_ > 0) {
      std::memmove(bytes_.get(), data(), size());
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == capacity_) Grow();
    return {bytes_.get() + end_, capacity_ - end_};
  }
  // `bytes` of the room have been filled.
  void Commit(size_t bytes) {
    assert(end_ + bytes <= capacity_);
    end_ += bytes;
  }

 private:
  void Grow() {
    const size_t capacity = capacity_ == 0 ? kInitialBytes : capacity_ * 2;
    std::unique_ptr<char[]> grown(new char[capacity]);
    if (end_ > 0) std::memcpy(grown.get(), bytes_.get(), end_);
    bytes_ = std::move(grown);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> bytes_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace tallystick::server
