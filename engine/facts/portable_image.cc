#include "engine/facts/portable_image.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/facts/popcount.h"

namespace tallystick {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kCookieNoRuns = 12346;
constexpr uint32_t kCookieRuns = 12347;
constexpr uint32_t kArrayMax = 4096;
constexpr uint32_t kOffsetsFrom = 4;  // with runs, fewer containers have no offsets
constexpr uint32_t kContainersMax = 65536;

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

uint32_t RunsOf(const std::vector<uint16_t>& values) {
  uint32_t runs = 0;
  for (size_t i = 0; i < values.size(); ++i) runs += i == 0 || values[i] != values[i - 1] + 1;
  return runs;
}

uint32_t RunsOf(std::span<const uint64_t> words) {
  uint64_t before = 0;  // the highest bit of the word before
  uint32_t runs = 0;
  for (const uint64_t word : words) {
    runs += static_cast<uint32_t>(std::popcount(word & ~(word << 1 | before)));
    before = word >> 63;
  }
  return runs;
}

void PutRun(std::string* out, uint32_t first, uint32_t last) {
  Put(out, static_cast<uint16_t>(first));
  Put(out, static_cast<uint16_t>(last - first));
}

}  // namespace

// ---- Writing
// ----------------------------------------------------------------------------------------

PortableWriter::PortableWriter(std::string* out) : out_(out), start_(out->size()) {
  Put(out_, uint64_t{0});
}

void PortableWriter::Open(uint64_t container) {
  if (open_ && container_ == container) return;
  TALLY_ASSERT(!open_ || container > container_);
  CloseContainer();
  if (!heads_.empty() && container_ >> 16 != container >> 16) CloseBitmap();
  container_ = container;
  open_ = true;
}

void PortableWriter::BecomeDense() {
  if (dense_) return;
  words_.fill(0);
  for (const uint16_t value : values_) words_[value / 64] |= uint64_t{1} << (value % 64);
  values_.clear();
  dense_ = true;
}

void PortableWriter::Append(uint64_t uid) {
  Open(uid / kContainerBits);
  const auto value = static_cast<uint16_t>(uid % kContainerBits);
  if (dense_) {
    words_[value / 64] |= uint64_t{1} << (value % 64);
    return;
  }
  TALLY_ASSERT(values_.empty() || values_.back() < value);
  values_.push_back(value);
  if (values_.size() > kArrayMax) BecomeDense();
}

void PortableWriter::AppendChunk(uint64_t chunk, const ChunkBits& bits) {
  if (NextSetBit(bits.data(), 0) == kChunkBits) return;
  Open(chunk / 2);
  BecomeDense();
  std::copy(bits.begin(), bits.end(), words_.begin() + (chunk % 2) * kChunkWords);
}

void PortableWriter::CloseContainer() {
  if (!open_) return;
  const std::span<const uint64_t> words(words_);
  const auto count = dense_ ? static_cast<uint32_t>(Popcount(words_.data(), kContainerWords))
                            : static_cast<uint32_t>(values_.size());
  const uint32_t runs = dense_ ? RunsOf(words) : RunsOf(values_);
  TALLY_ASSERT(count > 0);
  const size_t before = body_.size();
  const size_t plain_bytes = count <= kArrayMax ? 2 * count : kContainerBytesMax;
  const bool as_runs = 2 + 4 * size_t{runs} < plain_bytes;
  if (as_runs) {
    Put(&body_, static_cast<uint16_t>(runs));
    uint32_t first = 0;
    uint32_t last = 0;
    bool any = false;
    const auto add = [&](uint32_t value) {
      if (any && value == last + 1) {
        last = value;
        return;
      }
      if (any) PutRun(&body_, first, last);
      first = last = value;
      any = true;
    };
    if (dense_) {
      for (uint32_t i = 0; i < kContainerWords; ++i) {
        if (words_[i] == ~uint64_t{0} && any && last + 1 == i * 64) {
          last += 64;
          continue;
        }
        for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
          add(i * 64 + static_cast<uint32_t>(std::countr_zero(word)));
        }
      }
    } else {
      for (const uint16_t value : values_) add(value);
    }
    PutRun(&body_, first, last);
  } else if (count > kArrayMax) {
    body_.append(reinterpret_cast<const char*>(words_.data()), kContainerBytesMax);
  } else if (dense_) {
    for (uint32_t i = 0; i < kContainerWords; ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        Put(&body_, static_cast<uint16_t>(i * 64 + static_cast<uint32_t>(std::countr_zero(word))));
      }
    }
  } else {
    body_.append(reinterpret_cast<const char*>(values_.data()), plain_bytes);
  }
  TALLY_ASSERT(body_.size() - before == (as_runs ? 2 + 4 * size_t{runs} : plain_bytes));
  heads_.push_back({static_cast<uint16_t>(container_ % kContainersMax),
                    static_cast<uint16_t>(count - 1), as_runs,
                    static_cast<uint32_t>(body_.size() - before)});
  values_.clear();
  open_ = dense_ = false;
}

void PortableWriter::CloseBitmap() {
  ++bitmaps_;
  Put(out_, static_cast<uint32_t>(container_ / kContainersMax));
  const size_t start = out_->size();
  const auto count = static_cast<uint32_t>(heads_.size());
  const bool runs =
      std::any_of(heads_.begin(), heads_.end(), [](const Head& head) { return head.runs; });
  if (runs) {
    Put(out_, kCookieRuns | (count - 1) << 16);
    std::string flags((count + 7) / 8, '\0');
    for (uint32_t i = 0; i < count; ++i) {
      if (heads_[i].runs) flags[i / 8] = static_cast<char>(flags[i / 8] | 1 << (i % 8));
    }
    out_->append(flags);
  } else {
    Put(out_, kCookieNoRuns);
    Put(out_, count);
  }
  for (const Head& head : heads_) {
    Put(out_, head.key);
    Put(out_, head.less_one);
  }
  if (!runs || count >= kOffsetsFrom) {
    auto offset = static_cast<uint32_t>(out_->size() - start + 4 * count);
    for (const Head& head : heads_) {
      Put(out_, offset);
      offset += head.bytes;
    }
  }
  out_->append(body_);
  heads_.clear();
  body_.clear();
}

void PortableWriter::Finish() {
  CloseContainer();
  if (!heads_.empty()) CloseBitmap();
  std::memcpy(out_->data() + start_, &bitmaps_, sizeof(bitmaps_));
}

// ---- Reading
// ----------------------------------------------------------------------------------------

namespace {

class Reader {
 public:
  Reader(std::string_view bytes, FactSet* set) : bytes_(bytes), set_(*set) {}

  Status Run() {
    uint64_t bitmaps = 0;
    if (!Get(&bitmaps)) return Cut();
    int64_t before = -1;
    for (; bitmaps > 0; --bitmaps) {
      uint32_t high = 0;
      if (!Get(&high)) return Cut();
      if (int64_t{high} <= before) return Wrong("the high halves do not rise");
      before = high;
      if (Status s = Bitmap(uint64_t{high} << 32); !s.ok()) return s;
    }
    if (at_ != bytes_.size()) return Wrong("bytes follow behind the last bitmap");
    return Status();
  }

 private:
  struct Head {
    uint16_t key;
    uint16_t less_one;
  };

  Status Wrong(const char* what) const {
    return Status::Error(
        StatusCode::kInvalidArgument,
        "no portable roaring bitmap: " + std::string(what) + ", near byte " + std::to_string(at_));
  }
  Status Cut() const { return Wrong("it is cut short"); }

  template <typename T>
  bool Get(T* value) {
    if (bytes_.size() - at_ < sizeof(T)) return false;
    std::memcpy(value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }

  Status Bitmap(uint64_t base) {
    const size_t start = at_;
    uint32_t cookie = 0;
    if (!Get(&cookie)) return Cut();
    const bool may_have_runs = (cookie & 0xffff) == kCookieRuns;
    uint32_t count = (cookie >> 16) + 1;
    std::string_view runs;
    if (may_have_runs) {
      const size_t flag_bytes = (count + 7) / 8;
      if (bytes_.size() - at_ < flag_bytes) return Cut();
      runs = bytes_.substr(at_, flag_bytes);
      at_ += flag_bytes;
    } else if (cookie != kCookieNoRuns) {
      return Wrong("the cookie is not known");
    } else if (!Get(&count)) {
      return Cut();
    }
    if (count > kContainersMax) return Wrong("too many containers");
    const bool has_offsets = !may_have_runs || count >= kOffsetsFrom;
    const size_t heads_at = at_;
    const size_t offsets_at = heads_at + size_t{count} * sizeof(Head);
    const size_t head_bytes = size_t{count} * (sizeof(Head) + (has_offsets ? sizeof(uint32_t) : 0));
    if (bytes_.size() - at_ < head_bytes) return Cut();
    at_ += head_bytes;
    int32_t before = -1;
    for (uint32_t i = 0; i < count; ++i) {
      Head head;
      std::memcpy(&head, bytes_.data() + heads_at + i * sizeof(Head), sizeof(Head));
      if (head.key <= before) return Wrong("the keys of the containers do not rise");
      before = head.key;
      if (has_offsets) {
        uint32_t offset = 0;
        std::memcpy(&offset, bytes_.data() + offsets_at + i * sizeof(offset), sizeof(offset));
        if (offset != at_ - start) return Wrong("a container is not where its offset says");
      }
      const uint64_t first = base | uint64_t{head.key} << 16;
      const uint32_t members = uint32_t{head.less_one} + 1;
      const bool as_runs = may_have_runs && ((runs[i / 8] >> (i % 8)) & 1) != 0;
      Status status = as_runs                ? Runs(first, members)
                      : members <= kArrayMax ? Array(first, members)
                                             : Bits(first, members);
      if (!status.ok()) return status;
    }
    return Status();
  }

  Status Array(uint64_t first, uint32_t members) {
    if (bytes_.size() - at_ < members * sizeof(uint16_t)) return Cut();
    int32_t before = -1;
    uint32_t in_first_chunk = 0;
    for (uint32_t i = 0; i < members; ++i) {
      const uint16_t value = ValueAt(i);
      if (value <= before) return Wrong("the members of an array do not rise");
      before = value;
      in_first_chunk += value < kChunkBits;
    }
    Take(first, 0, in_first_chunk);
    Take(first, in_first_chunk, members);
    at_ += members * sizeof(uint16_t);
    return Status();
  }

  uint16_t ValueAt(uint32_t index) const {
    uint16_t value = 0;
    std::memcpy(&value, bytes_.data() + at_ + index * sizeof(value), sizeof(value));
    return value;
  }

  // Members index .. end - 1 of the array at hand, all of one chunk.
  void Take(uint64_t first, uint32_t index, uint32_t end) {
    if (end - index <= kChunkMembersByOne) {
      for (; index < end; ++index) TALLY_ASSERT(set_.Add(first + ValueAt(index)));
      return;
    }
    bits_.fill(0);
    const uint64_t chunk = ChunkOf(first + ValueAt(index));
    const uint32_t count = end - index;
    for (; index < end; ++index) {
      const uint32_t bit = BitOf(ValueAt(index));
      bits_[bit / 64] |= uint64_t{1} << (bit % 64);
    }
    set_.AppendChunk(chunk, bits_, count);
  }

  Status Bits(uint64_t first, uint32_t members) {
    if (bytes_.size() - at_ < PortableWriter::kContainerBytesMax) return Cut();
    uint32_t counts[2];
    ChunkBits halves[2];
    for (size_t half = 0; half < 2; ++half) {
      std::memcpy(halves[half].data(), bytes_.data() + at_ + half * sizeof(ChunkBits),
                  sizeof(ChunkBits));
      counts[half] = static_cast<uint32_t>(Popcount(halves[half].data(), kChunkWords));
    }
    if (counts[0] + counts[1] != members)
      return Wrong("a container has other members than it says");
    at_ += PortableWriter::kContainerBytesMax;
    AppendHalves(first, halves, counts);
    return Status();
  }

  Status Runs(uint64_t first, uint32_t members) {
    uint16_t runs = 0;
    if (!Get(&runs) || bytes_.size() - at_ < size_t{runs} * 4) return Cut();
    ChunkBits halves[2] = {};
    uint32_t counts[2] = {0, 0};
    uint32_t next = 0;
    for (; runs > 0; --runs) {
      uint16_t start = 0;
      uint16_t less_one = 0;
      if (!Get(&start) || !Get(&less_one)) return Cut();
      const uint32_t last = uint32_t{start} + less_one;
      if (start < next || last >= PortableWriter::kContainerBits)
        return Wrong("the runs of a container overlap or do not rise");
      next = last + 1;
      if (start < kChunkBits) {
        const uint32_t end = std::min(last, kChunkBits - 1);
        SetBitRange(halves[0].data(), start, end);
        counts[0] += end - start + 1;
      }
      if (last >= kChunkBits) {
        const uint32_t begin = std::max<uint32_t>(start, kChunkBits);
        SetBitRange(halves[1].data(), begin - kChunkBits, last - kChunkBits);
        counts[1] += last - begin + 1;
      }
    }
    if (counts[0] + counts[1] != members)
      return Wrong("a container has other members than it says");
    run_chunks_ += (counts[0] > 0 ? 1u : 0u) + (counts[1] > 0 ? 1u : 0u);
    if (run_chunks_ > kPortableRunChunksMax) {
      return Status::Error(StatusCode::kTooLarge, "the bitmap has more than " +
                                                      std::to_string(kPortableRunChunksMax / 2) +
                                                      " containers of runs; send it in parts");
    }
    AppendHalves(first, halves, counts);
    return Status();
  }

  void AppendHalves(uint64_t first, const ChunkBits (&halves)[2], const uint32_t (&counts)[2]) {
    for (size_t half = 0; half < 2; ++half) {
      if (counts[half] > 0) set_.AppendChunk(ChunkOf(first) + half, halves[half], counts[half]);
    }
  }

  static constexpr uint32_t kChunkMembersByOne = 64;

  const std::string_view bytes_;
  size_t at_ = 0;
  uint64_t run_chunks_ = 0;
  ChunkBits bits_;
  FactSet& set_;
};

}  // namespace

Status ReadPortable(std::string_view bytes, FactSet* set) {
  *set = FactSet();
  FactSet read;
  Status status = Reader(bytes, &read).Run();
  if (status.ok()) *set = std::move(read);
  return status;
}

}  // namespace tallystick
