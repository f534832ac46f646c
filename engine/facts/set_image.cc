#include "engine/facts/set_image.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/facts/fact_set.h"

namespace tallystick {
namespace {

bool DecodeArray(ByteReader* reader, ChunkBits* bits) {
  uint64_t count = 0;
  if (!reader->Varint(&count) || count == 0 || count > reader->remaining()) return false;
  uint64_t next = 0;  // the smallest value that may follow
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t gap = 0;
    if (!reader->Varint(&gap) || gap >= kChunkBits || next + gap >= kChunkBits) return false;
    const uint64_t bit = next + gap;
    (*bits)[bit / 64] |= uint64_t{1} << (bit % 64);
    next = bit + 1;
  }
  return true;
}

bool DecodeRuns(ByteReader* reader, ChunkBits* bits) {
  uint64_t count = 0;
  if (!reader->Varint(&count) || count == 0 || count > reader->remaining()) return false;
  uint64_t next = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t gap = 0;
    uint64_t more = 0;  // length of the run less one
    if (!reader->Varint(&gap) || !reader->Varint(&more)) return false;
    if (gap >= kChunkBits || more >= kChunkBits || next + gap + more >= kChunkBits) return false;
    const uint64_t first = next + gap;
    SetBitRange(bits->data(), static_cast<uint32_t>(first), static_cast<uint32_t>(first + more));
    next = first + more + 2;  // runs that touch would be one run
  }
  return true;
}

bool DecodeDense(ByteReader* reader, ChunkBits* bits) {
  std::string_view raw;
  if (!reader->Raw(sizeof(ChunkBits), &raw)) return false;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(bits->data(), raw.data(), raw.size());
  return std::any_of(bits->begin(), bits->end(), [](uint64_t word) { return word != 0; });
}

enum class ImageForm : uint8_t { kWritten, kDense };

// Varints into a buffer of a dense chunk's size. Once they do not fit, nothing more is written.
class BoundedVarints {
 public:
  bool full() const { return full_; }
  size_t size() const { return size_; }
  std::string_view written() const { return {bytes_.data(), size_}; }

  void Put(uint32_t value) {  // below 2^21
    const size_t size = value < 0x80 ? 1 : value < 0x4000 ? 2 : 3;
    if (size_ + size > bytes_.size()) full_ = true;
    if (full_) return;
    while (value >= 0x80) {
      bytes_[size_++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    bytes_[size_++] = static_cast<char>(value);
  }

 private:
  std::array<char, sizeof(ChunkBits)> bytes_;
  size_t size_ = 0;
  bool full_ = false;
};

void WriteForm(uint8_t form, const BoundedVarints& varints, std::string* out) {
  out->push_back(static_cast<char>(form));
  out->append(varints.written());
}

// Writes the smaller of array and runs, unless dense is smaller than both.
template <typename ForEachRunOf>
ImageForm WriteSmaller(uint32_t members, uint32_t runs, ForEachRunOf for_each_run,
                       std::string* out) {
  TALLY_ASSERT(members > 0 && runs > 0 && runs <= members);
  BoundedVarints array;
  BoundedVarints run_list;
  array.Put(members);
  run_list.Put(runs);
  // A member costs a byte or more, a run two or more.
  const bool try_array = members < sizeof(ChunkBits);
  const bool try_runs = 2 * size_t{runs} < sizeof(ChunkBits);
  if (!try_array && !try_runs) return ImageForm::kDense;
  uint32_t next = 0;
  for_each_run([&](uint32_t first, uint32_t last) {
    if (try_array) {
      array.Put(first - next);
      for (uint32_t i = first; i < last; ++i) array.Put(0);
    }
    if (try_runs) {
      run_list.Put(next == 0 ? first : first - next - 1);
      run_list.Put(last - first);
    }
    next = last + 1;
  });
  const bool array_fits = try_array && !array.full();
  const bool runs_fit = try_runs && !run_list.full();
  if (array_fits && (!runs_fit || array.size() <= run_list.size())) {
    WriteForm(kChunkImageArray, array, out);
  } else if (runs_fit) {
    WriteForm(kChunkImageRuns, run_list, out);
  } else {
    return ImageForm::kDense;
  }
  return ImageForm::kWritten;
}

void WriteDense(const ChunkBits& bits, std::string* out) {
  out->push_back(static_cast<char>(kChunkImageDense));
  out->append(reinterpret_cast<const char*>(bits.data()), sizeof(bits));
}

}  // namespace

void AppendAscending(std::span<const uint64_t> ascending, std::string* out) {
  AscendingWriter writer(ascending.size(), out);
  for (const uint64_t uid : ascending) writer.Append(uid);
}

bool ReadAscending(ByteReader* reader, std::vector<uint64_t>* ascending) {
  uint64_t count = 0;
  if (!reader->Varint(&count) || count > reader->remaining()) return false;
  ascending->reserve(ascending->size() + count);
  uint64_t next = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (i > 0 && next == 0) return false;  // 2^64-1 was not the last
    uint64_t gap = 0;
    if (!reader->Varint(&gap) || gap > UINT64_MAX - next) return false;
    ascending->push_back(next + gap);
    next = next + gap + 1;
  }
  return true;
}

void EncodeChunkBits(const ChunkBits& bits, std::string* out) {
  const ImageForm form = WriteSmaller(
      CountBits(bits.data(), 0, kChunkBits - 1), CountRuns(bits.data()),
      [&bits](auto visit) { ForEachRun(bits.data(), visit); }, out);
  if (form == ImageForm::kDense) WriteDense(bits, out);
}

void EncodeChunkValues(std::span<const uint16_t> ascending, std::string* out) {
  const auto for_each_run = [ascending](auto visit) {
    for (size_t i = 0; i < ascending.size();) {
      const uint32_t first = ascending[i++];
      uint32_t last = first;
      while (i < ascending.size() && ascending[i] == last + 1) last = ascending[i++];
      visit(first, last);
    }
  };
  uint32_t runs = 0;
  for_each_run([&runs](uint32_t, uint32_t) { ++runs; });
  const ImageForm form =
      WriteSmaller(static_cast<uint32_t>(ascending.size()), runs, for_each_run, out);
  if (form == ImageForm::kDense) {
    ChunkBits bits{};
    for (const uint16_t bit : ascending) bits[bit / 64] |= uint64_t{1} << (bit % 64);
    WriteDense(bits, out);
  }
}

bool DecodeChunkBits(std::string_view image, ChunkBits* bits) {
  ByteReader reader(image);
  uint8_t form = 0;
  if (!reader.U8(&form)) return false;
  bits->fill(0);
  bool valid = false;
  if (form == kChunkImageArray) valid = DecodeArray(&reader, bits);
  if (form == kChunkImageRuns) valid = DecodeRuns(&reader, bits);
  if (form == kChunkImageDense) valid = DecodeDense(&reader, bits);
  return valid && reader.remaining() == 0 && reader.ok();
}

void EncodeUids(const std::vector<uint64_t>& ascending, std::string* out) {
  out->push_back(static_cast<char>(kUidsImage));
  AppendAscending(ascending, out);
}

bool DecodeUids(std::string_view bytes, std::vector<uint64_t>* ascending) {
  ascending->clear();
  ByteReader reader(bytes);
  uint8_t form = 0;
  const bool valid = reader.U8(&form) && form == kUidsImage && ReadAscending(&reader, ascending) &&
                     reader.remaining() == 0;
  if (!valid) ascending->clear();
  return valid;
}

}  // namespace tallystick
