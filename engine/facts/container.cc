#include "engine/facts/container.h"

#include <algorithm>
#include <array>

#include "engine/base/assert.h"
#include "engine/facts/array_chunk.h"
#include "engine/facts/bit_order.h"
#include "engine/facts/dense_chunk.h"
#include "engine/facts/roaring_chunk.h"
#include "engine/facts/set_image.h"

namespace tallystick {
namespace {

// At every how many members a dense chunk is looked at for runs.
constexpr uint32_t kReconsiderEvery = 256;

// What the better of array and dense would take.
size_t PlainBytes(uint32_t count) {
  return std::min<size_t>(2 * size_t{count}, sizeof(ChunkBits));
}

// Ten bits hold the runs: a bitmap that has more has long left the form.
static_assert(4 * roaring_chunk::BytesForRuns(1022) > 3 * sizeof(ChunkBits));

// A packed chunk of one run has little more than a bit a member.
bool RoaringPays(uint32_t count, uint32_t runs) {
  return count > kPackedMembersMax && 2 * roaring_chunk::BytesForRuns(runs) <= PlainBytes(count);
}

Container::Form PlainForm(uint32_t count) {
  if (count <= kPackedMembersMax) return Container::Form::kPacked;
  return count <= kArrayMembersMax ? Container::Form::kArray : Container::Form::kDense;
}

Block* NewPacked(const ChunkBits& bits) {
  std::array<uint64_t, kPackedMembersMax> values;
  size_t count = 0;
  ForEachBit(bits.data(), 0, kChunkBits - 1, [&](uint32_t bit) { values[count++] = bit; });
  return Block::New({values.data(), count}, 0);
}

}  // namespace

Container Container::Absent(uint64_t number, uint32_t cardinality) {
  TALLY_ASSERT(number <= kChunkNumberMax && cardinality > 0 && cardinality <= kChunkBits);
  Container container;
  container.words_[0] = number | kSavedBit;
  container.SetForm(Form::kAbsent, nullptr, cardinality, 0);
  return container;
}

Container Container::FromBits(uint64_t number, const ChunkBits& bits, uint32_t count) {
  TALLY_ASSERT(number <= kChunkNumberMax && count > 0 && count <= kChunkBits);
  Container container;
  container.words_[0] = number;
  const uint32_t runs = CountRuns(bits.data());
  container.TakeForm(RoaringPays(count, runs) ? Form::kRoaring : PlainForm(count), bits, count,
                     runs);
  return container;
}

void Container::Free() {
  switch (form()) {
    case Form::kPacked:
      Block::Free(pointer<Block>());
      break;
    case Form::kArray:
      array_chunk::Free(pointer<uint16_t>());
      break;
    case Form::kRoaring:
      roaring_chunk::Free(pointer<roaring_chunk::Bitmap>());
      break;
    case Form::kDense:
      dense_chunk::Free(pointer<uint64_t>());
      break;
    case Form::kNone:
    case Form::kAbsent:
      break;
  }
  *this = Container();
}

bool Container::Contains(uint32_t bit) const {
  RequireMembers();
  switch (form()) {
    case Form::kPacked:
      return pointer<Block>()->Find(cardinality(), bit).found;
    case Form::kArray:
      return array_chunk::Contains(pointer<uint16_t>(), cardinality(), bit);
    case Form::kRoaring:
      return roaring_chunk::Contains(pointer<roaring_chunk::Bitmap>(), bit);
    case Form::kDense:
      return dense_chunk::Contains(pointer<uint64_t>(), bit);
    case Form::kNone:
    case Form::kAbsent:
      break;
  }
  return false;
}

bool Container::Add(uint32_t bit) {
  RequireMembers();
  const uint32_t count = cardinality();
  switch (form()) {
    case Form::kPacked: {
      const BlockPlace place = pointer<Block>()->Find(count, bit);
      if (place.found) return false;
      if (count == kPackedMembersMax) {
        Convert(Form::kArray);
        return Add(bit);
      }
      SetForm(Form::kPacked, Block::Insert(pointer<Block>(), count, place.index, bit), count + 1,
              0);
      MarkChanged();
      return true;
    }
    case Form::kArray: {
      auto* array = pointer<uint16_t>();
      const uint32_t index = array_chunk::LowerBound(array, count, bit);
      if (index < count && array_chunk::Values(array)[index] == bit) return false;
      const bool full = count == array_chunk::Capacity(array);
      SetForm(Form::kArray, array_chunk::Insert(array, count, index, bit), count + 1, 0);
      MarkChanged();
      if (count + 1 > kArrayMembersMax) Convert(Form::kDense);
      if (full) ReconsiderRoaring();
      return true;
    }
    case Form::kRoaring: {
      const auto change = roaring_chunk::Add(pointer<roaring_chunk::Bitmap>(), bit);
      if (!change.changed) return false;
      SetCardinality(count + 1);
      SetRuns(static_cast<uint32_t>(static_cast<int>(runs()) + change.runs));
      MarkChanged();
      LeaveRoaringIfLarge();
      return true;
    }
    case Form::kDense:
      if (!dense_chunk::Add(pointer<uint64_t>(), bit)) return false;
      SetCardinality(count + 1);
      MarkChanged();
      if ((count + 1) % kReconsiderEvery == 0) ReconsiderRoaring();
      return true;
    case Form::kNone:
    case Form::kAbsent:
      break;
  }
  return false;
}

bool Container::Remove(uint32_t bit) {
  RequireMembers();
  const uint32_t count = cardinality();
  switch (form()) {
    case Form::kPacked: {
      auto* block = pointer<Block>();
      const BlockPlace place = block->Find(count, bit);
      if (!place.found) return false;
      if (count == 1) {
        Block::Free(block);
        block = nullptr;
      } else {
        block = Block::Erase(block, count, place.index, bit);
      }
      SetForm(Form::kPacked, block, count - 1, 0);
      MarkChanged();
      return true;
    }
    case Form::kArray: {
      auto* array = pointer<uint16_t>();
      const uint32_t index = array_chunk::LowerBound(array, count, bit);
      if (index == count || array_chunk::Values(array)[index] != bit) return false;
      SetForm(Form::kArray, array_chunk::Erase(array, count, index), count - 1, 0);
      MarkChanged();
      if (count - 1 < kArrayMembersMin) Convert(Form::kPacked);
      return true;
    }
    case Form::kRoaring: {
      const auto change = roaring_chunk::Remove(pointer<roaring_chunk::Bitmap>(), bit);
      if (!change.changed) return false;
      SetCardinality(count - 1);
      SetRuns(static_cast<uint32_t>(static_cast<int>(runs()) + change.runs));
      MarkChanged();
      LeaveRoaringIfLarge();
      return true;
    }
    case Form::kDense:
      if (!dense_chunk::Remove(pointer<uint64_t>(), bit)) return false;
      SetCardinality(count - 1);
      MarkChanged();
      if (count - 1 < kDenseMembersMin) Convert(Form::kArray);
      if ((count - 1) % kReconsiderEvery == 0) ReconsiderRoaring();
      return true;
    case Form::kNone:
    case Form::kAbsent:
      break;
  }
  return false;
}

uint32_t Container::RemoveRange(uint32_t first, uint32_t last, std::vector<uint64_t>* removed) {
  ChunkBits bits;
  ToBits(&bits);
  const uint32_t gone = CountBits(bits.data(), first, last);
  if (gone == 0) return 0;
  removed->reserve(removed->size() + gone);
  ForEachBit(bits.data(), first, last,
             [&](uint32_t bit) { removed->push_back(first_uid() + bit); });
  ClearBitRange(bits.data(), first, last);
  const uint32_t left = cardinality() - gone;
  Container rest;
  if (left > 0) rest = FromBits(number(), bits, left);
  Container old = *this;
  SetForm(rest.form(), rest.pointer<void>(), left, rest.runs());
  MarkChanged();
  old.Free();
  return gone;
}

uint32_t Container::LowerBound(uint32_t bit) const {
  if (form() == Form::kPacked) return pointer<Block>()->Find(cardinality(), bit).index;
  return array_chunk::LowerBound(pointer<uint16_t>(), cardinality(), bit);
}

uint32_t Container::ValueAt(uint32_t index) const {
  if (form() == Form::kPacked) return static_cast<uint32_t>(pointer<Block>()->At(index));
  return array_chunk::Values(pointer<uint16_t>())[index];
}

uint32_t Container::CardinalityIn(uint32_t first, uint32_t last) const {
  TALLY_ASSERT(first <= last && last < kChunkBits);
  if (is_list()) return LowerBound(last + 1) - LowerBound(first);
  if (form() == Form::kDense) return CountBits(pointer<uint64_t>(), first, last);
  ChunkBits bits;
  ToBits(&bits);
  return CountBits(bits.data(), first, last);
}

std::optional<uint32_t> Container::NextIn(uint32_t first, uint32_t last) const {
  TALLY_ASSERT(first <= last && last < kChunkBits);
  uint32_t found = kChunkBits;
  if (is_list()) {
    const uint32_t index = LowerBound(first);
    if (index < cardinality()) found = ValueAt(index);
  } else if (form() == Form::kDense) {
    found = NextSetBit(pointer<uint64_t>(), first);
  } else {
    ChunkBits bits;
    ToBits(&bits);
    found = NextSetBit(bits.data(), first);
  }
  if (found > last) return std::nullopt;
  return found;
}

std::optional<uint32_t> Container::LastIn(uint32_t first, uint32_t last) const {
  TALLY_ASSERT(first <= last && last < kChunkBits);
  if (is_list()) {
    const uint32_t index = LowerBound(last + 1);
    if (index == 0 || ValueAt(index - 1) < first) return std::nullopt;
    return ValueAt(index - 1);
  }
  if (form() == Form::kDense) return LastSetBit(pointer<uint64_t>(), first, last);
  ChunkBits bits;
  ToBits(&bits);
  return LastSetBit(bits.data(), first, last);
}

void Container::Collect(uint32_t from, size_t limit, std::vector<uint64_t>* uids) const {
  if (form() == Form::kPacked) {
    std::array<uint64_t, kPackedMembersMax> values;
    const uint32_t index = LowerBound(from);
    const uint32_t n = static_cast<uint32_t>(std::min<size_t>(limit, cardinality() - index));
    pointer<Block>()->Read(index, n, first_uid(), values.data());
    uids->insert(uids->end(), values.begin(), values.begin() + n);
    return;
  }
  if (form() == Form::kArray) {
    const auto* array = pointer<uint16_t>();
    const uint32_t index = LowerBound(from);
    const size_t n = std::min<size_t>(limit, cardinality() - index);
    for (size_t i = 0; i < n; ++i) {
      uids->push_back(first_uid() + array_chunk::Values(array)[index + i]);
    }
    return;
  }
  ChunkBits bits;
  const uint64_t* words = pointer<uint64_t>();
  if (form() != Form::kDense) {
    ToBits(&bits);
    words = bits.data();
  }
  for (uint32_t bit = NextSetBit(words, from); bit < kChunkBits && limit > 0; --limit) {
    uids->push_back(first_uid() + bit);
    bit = NextSetBit(words, bit + 1);
  }
}

void Container::ReadBits(UidRange range, char* out) const {
  const uint64_t first = std::max(range.first, first_uid());
  const uint64_t last = std::min(range.last, last_uid());
  if (first > last) return;
  ChunkBits bits;
  const uint64_t* words = pointer<uint64_t>();
  if (form() != Form::kDense) {
    ToBits(&bits);
    words = bits.data();
  }
  if (range.first % 8 == 0) {
    TALLY_ASSERT((last + 1) % 8 == 0);
    OrIntoRedisString(reinterpret_cast<const char*>(words) + BitOf(first) / 8,
                      (last - first + 1) / 8, out + (first - range.first) / 8);
    return;
  }
  ForEachBit(words, BitOf(first), BitOf(last),
             [&](uint32_t bit) { SetRedisBit(out, first_uid() + bit - range.first); });
}

void Container::ToBits(ChunkBits* bits) const {
  RequireMembers();
  switch (form()) {
    case Form::kPacked: {
      std::array<uint64_t, kPackedMembersMax> values;
      pointer<Block>()->Read(0, cardinality(), 0, values.data());
      bits->fill(0);
      for (uint32_t i = 0; i < cardinality(); ++i) {
        (*bits)[values[i] / 64] |= uint64_t{1} << (values[i] % 64);
      }
      return;
    }
    case Form::kArray:
      array_chunk::ToBits(pointer<uint16_t>(), cardinality(), bits);
      return;
    case Form::kRoaring:
      roaring_chunk::ToBits(pointer<roaring_chunk::Bitmap>(), bits);
      return;
    case Form::kDense:
      std::copy_n(pointer<uint64_t>(), kChunkWords, bits->begin());
      return;
    case Form::kNone:
    case Form::kAbsent:
      return;
  }
}

void Container::Encode(std::string* out) const {
  if (form() == Form::kPacked) {
    std::array<uint64_t, kPackedMembersMax> values;
    std::array<uint16_t, kPackedMembersMax> bits;
    pointer<Block>()->Read(0, cardinality(), 0, values.data());
    std::transform(values.begin(), values.begin() + cardinality(), bits.begin(),
                   [](uint64_t value) { return static_cast<uint16_t>(value); });
    EncodeChunkValues({bits.data(), cardinality()}, out);
    return;
  }
  if (form() == Form::kArray) {
    EncodeChunkValues({array_chunk::Values(pointer<uint16_t>()), cardinality()}, out);
    return;
  }
  ChunkBits bits;
  ToBits(&bits);
  EncodeChunkBits(bits, out);
}

bool Container::Install(const ChunkBits& bits) {
  TALLY_ASSERT(absent());
  const uint32_t count = CountBits(bits.data(), 0, kChunkBits - 1);
  if (count != cardinality()) return false;
  const Container installed = FromBits(number(), bits, count);
  SetForm(installed.form(), installed.pointer<void>(), count, installed.runs());
  return true;
}

size_t Container::MemoryBytes() const {
  switch (form()) {
    case Form::kPacked:
      return pointer<Block>()->MemoryBytes();
    case Form::kArray:
      return array_chunk::MemoryBytes(pointer<uint16_t>());
    case Form::kRoaring:
      return roaring_chunk::MemoryBytes(pointer<roaring_chunk::Bitmap>());
    case Form::kDense:
      return dense_chunk::MemoryBytes();
    case Form::kNone:
    case Form::kAbsent:
      break;
  }
  return 0;
}

bool Container::IsValid() const {
  const uint32_t count = cardinality();
  if (number() > kChunkNumberMax || count == 0 || count > kChunkBits) return false;
  if (absent()) return saved() && !changed();
  if (form() == Form::kArray) {
    const uint16_t* values = array_chunk::Values(pointer<uint16_t>());
    if (count > kArrayMembersMax || count > array_chunk::Capacity(pointer<uint16_t>()))
      return false;
    if (values[count - 1] >= kChunkBits) return false;
    return std::adjacent_find(values, values + count, std::greater_equal<>()) == values + count;
  }
  if (form() == Form::kPacked) {
    const auto* block = pointer<Block>();
    return count <= kPackedMembersMax && block->IsValid(count) && block->At(count - 1) < kChunkBits;
  }
  if (form() == Form::kDense && count < kDenseMembersMin) return false;
  ChunkBits bits;
  ToBits(&bits);
  if (form() == Form::kRoaring) {
    const auto* bitmap = pointer<roaring_chunk::Bitmap>();
    if (roaring_chunk::Cardinality(bitmap) != count || CountRuns(bits.data()) != runs())
      return false;
  }
  return CountBits(bits.data(), 0, kChunkBits - 1) == count;
}

void Container::RequireMembers() const {
  TALLY_ASSERT(form() != Form::kNone && form() != Form::kAbsent);
}

void Container::SetCardinality(uint32_t cardinality) {
  TALLY_DCHECK(cardinality <= kChunkBits);
  words_[1] = (words_[1] & kPointerMask) | uint64_t{cardinality} << kPointerBits;
}

void Container::SetRuns(uint32_t runs) {
  TALLY_DCHECK(runs <= 1023);
  words_[0] = (words_[0] & ~kRunsMask) | uint64_t{runs} << kRunsShift;
}

void Container::SetForm(Form form, const void* members, uint32_t cardinality, uint32_t runs) {
  const auto address = reinterpret_cast<uint64_t>(members);
  TALLY_ASSERT((address & ~kPointerMask) == 0);
  words_[1] = address | uint64_t{cardinality} << kPointerBits;
  words_[0] = (words_[0] << 3 >> 3) | static_cast<uint64_t>(form) << kFormShift;
  SetRuns(runs);
}

void Container::TakeForm(Form form, const ChunkBits& bits, uint32_t count, uint32_t runs) {
  switch (form) {
    case Form::kPacked:
      SetForm(form, NewPacked(bits), count, 0);
      return;
    case Form::kArray:
      SetForm(form, array_chunk::New(bits, count), count, 0);
      return;
    case Form::kRoaring:
      SetForm(form, roaring_chunk::New(bits, count), count, runs);
      return;
    case Form::kDense:
      SetForm(form, dense_chunk::New(bits), count, 0);
      return;
    case Form::kNone:
    case Form::kAbsent:
      break;
  }
}

void Container::Convert(Form form) {
  ChunkBits bits;
  ToBits(&bits);
  Container old = *this;
  TakeForm(form, bits, cardinality(), CountRuns(bits.data()));
  old.Free();
}

void Container::ReconsiderRoaring() {
  const uint32_t count = cardinality();
  if (form() == Form::kPacked || form() == Form::kRoaring) return;
  if (count <= kPackedMembersMax || count > kRoaringBuildMembersMax) return;
  const uint32_t runs = form() == Form::kArray ? array_chunk::CountRuns(pointer<uint16_t>(), count)
                                               : CountRuns(pointer<uint64_t>());
  if (RoaringPays(count, runs)) Convert(Form::kRoaring);
}

void Container::LeaveRoaringIfLarge() {
  if (cardinality() == 0) return;
  if (4 * roaring_chunk::BytesForRuns(runs()) <= 3 * PlainBytes(cardinality())) return;
  Convert(PlainForm(cardinality()));
}

}  // namespace tallystick
