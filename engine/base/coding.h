// Bytes: big-endian fixed-width integers (they sort as numbers), LEB128 varints, zigzag, and a
// bounds-checked reader for bytes that nobody vouches for.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tallystick {

template <typename T>
inline T ByteSwap(T value) {
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(value));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(value));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(value));
}

template <typename T>
inline void PutBigEndian(std::string* out, T value) {
  static_assert(std::endian::native == std::endian::little);
  const T swapped = ByteSwap(value);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &swapped, sizeof(T));
  out->append(bytes, sizeof(T));
}
inline void PutU16(std::string* out, uint16_t v) {
  PutBigEndian(out, v);
}
inline void PutU32(std::string* out, uint32_t v) {
  PutBigEndian(out, v);
}
inline void PutU64(std::string* out, uint64_t v) {
  PutBigEndian(out, v);
}

template <typename T>
inline T LoadBigEndian(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return ByteSwap(value);
}

constexpr size_t kVarintBytesMax = 10;

// Writes up to kVarintBytesMax bytes; returns where the next byte goes.
inline char* StoreVarint(char* to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

inline void PutVarint(std::string* out, uint64_t value) {
  char bytes[kVarintBytesMax];
  out->append(bytes, static_cast<size_t>(StoreVarint(bytes, value) - bytes));
}

inline uint64_t ZigZag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
inline int64_t UnZigZag(uint64_t v) {
  return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}

inline void PutBytes(std::string* out, std::string_view bytes) {
  PutVarint(out, bytes.size());
  out->append(bytes);
}

// Reads from the front of a view. Every call says whether there was enough; after one failure all
// later calls fail, so a caller may check once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  size_t remaining() const { return ok_ ? rest_.size() : 0; }
  std::string_view rest() const { return ok_ ? rest_ : std::string_view(); }

  bool U8(uint8_t* v) {
    if (!Need(1)) return false;
    *v = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return true;
  }
  bool U16(uint16_t* v) { return Fixed(v); }
  bool U32(uint32_t* v) { return Fixed(v); }
  bool U64(uint64_t* v) { return Fixed(v); }
  // Refuses encodings longer than needed, so that every value has one encoding.
  bool Varint(uint64_t* v) {
    uint64_t value = 0;
    for (size_t i = 0; ok_ && i < rest_.size() && i < 10; ++i) {
      const uint64_t byte = static_cast<uint8_t>(rest_[i]);
      if (i == 9 && byte > 1) break;
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        if (byte == 0 && i > 0) break;
        rest_.remove_prefix(i + 1);
        *v = value;
        return true;
      }
    }
    ok_ = false;
    return false;
  }
  bool SignedVarint(int64_t* v) {
    uint64_t raw = 0;
    if (!Varint(&raw)) return false;
    *v = UnZigZag(raw);
    return true;
  }
  bool Raw(size_t n, std::string_view* v) {
    if (!Need(n)) return false;
    *v = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return true;
  }
  bool Bytes(std::string_view* v) {  // varint length, then the bytes
    uint64_t n = 0;
    return Varint(&n) && Raw(n, v);
  }

 private:
  bool Need(size_t n) {
    if (ok_ && rest_.size() >= n) return true;
    ok_ = false;
    return false;
  }
  template <typename T>
  bool Fixed(T* v) {
    if (!Need(sizeof(T))) return false;
    *v = LoadBigEndian<T>(rest_.data());
    rest_.remove_prefix(sizeof(T));
    return true;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace tallystick
