#include "engine/facts/text_set.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/facts/heap.h"

#include <algorithm>
#include <cstring>

namespace tallystick {
namespace {

constexpr uint32_t kPageBytesMax = 2048;    // beyond, a page of several texts splits
constexpr uint32_t kMergedBytesMax = 1024;  // two halves that fit this merge
constexpr uint8_t kDepthMax = 48;
constexpr uint8_t kWholeForm = 1;      // header: the texts themselves
constexpr uint8_t kDirectoryForm = 2;  // header: the directory of pages

uint8_t TagOf(uint64_t hash) {
  return static_cast<uint8_t>(hash);
}

uint64_t SpanOf(uint8_t depth) {  // hashes of a page of this depth, less one
  return depth == 0 ? UINT64_MAX : (uint64_t{1} << (64 - depth)) - 1;
}

uint32_t VarintBytes(uint64_t value) {
  uint32_t bytes = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++bytes;
  }
  return bytes;
}

// The length at `at`, and where the text behind it begins.
uint32_t LengthAt(const char* bytes, uint32_t* at) {
  uint32_t length = static_cast<uint8_t>(bytes[*at]);
  ++*at;
  if (length < 0x80) return length;
  length &= 0x7f;
  for (uint32_t shift = 7;; shift += 7) {
    const uint32_t byte = static_cast<uint8_t>(bytes[(*at)++]);
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return length;
  }
}

}  // namespace

TextSet::TextSet(uint64_t seed) : seed_(seed) {
  pages_.emplace_back();
}

uint64_t TextSet::HashOf(std::string_view text) const {
  return Hash64(text, seed_);
}

size_t TextSet::PageAt(uint64_t hash) const {
  const auto after = std::upper_bound(pages_.begin(), pages_.end(), hash,
                                      [](uint64_t h, const Page& page) { return h < page.start; });
  return static_cast<size_t>(after - pages_.begin()) - 1;
}

// visit(place, tag, text), until it answers false.
template <typename Visit>
void TextSet::ForEach(const Page& page, Visit visit) {
  TALLY_DCHECK(!page.missing);
  const char* bytes = page.bytes.get();
  for (uint32_t at = 0; at < page.used;) {
    const uint32_t begin = at;
    const uint8_t tag = static_cast<uint8_t>(bytes[at++]);
    const uint32_t length = LengthAt(bytes, &at);
    const std::string_view text(bytes + at, length);
    at += length;
    if (!visit(Place{begin, at}, tag, text)) return;
  }
}

std::optional<TextSet::Place> TextSet::Find(const Page& page, uint64_t hash,
                                            std::string_view text) const {
  std::optional<Place> found;
  ForEach(page, [&](Place place, uint8_t tag, std::string_view there) {
    if (tag == TagOf(hash) && there == text) found = place;
    return !found;
  });
  return found;
}

void TextSet::Append(Page* page, uint64_t hash, std::string_view text) {
  TALLY_ASSERT(text.size() <= kPlainValueBytesMax);
  const uint64_t needed = uint64_t{page->used} + 1 + VarintBytes(text.size()) + text.size();
  TALLY_ASSERT(needed <= UINT32_MAX);
  if (needed > page->room) {
    const uint64_t room = HeapRoom(needed + (page->count == 0 ? 0 : needed / 8));
    TALLY_ASSERT(room <= UINT32_MAX);
    std::unique_ptr<char[]> larger(new char[room]);
    if (page->used > 0) std::memcpy(larger.get(), page->bytes.get(), page->used);
    page->bytes = std::move(larger);
    page->room = static_cast<uint32_t>(room);
  }
  char* out = page->bytes.get() + page->used;
  *out++ = static_cast<char>(TagOf(hash));
  uint64_t length = text.size();
  for (; length >= 0x80; length >>= 7) *out++ = static_cast<char>(length | 0x80);
  *out++ = static_cast<char>(length);
  std::copy(text.begin(), text.end(), out);
  page->used = static_cast<uint32_t>(needed);
  ++page->count;
}

// Pages are numbered as the nodes of a binary tree: 1 is the whole, 2n and 2n + 1 the halves of n.
uint64_t TextSet::NumberOf(const Page& page) {
  return page.depth == 0 ? 1 : (uint64_t{1} << page.depth) | (page.start >> (64 - page.depth));
}

TextSet::Page* TextSet::PageOf(uint64_t number) {
  for (uint8_t depth = 0; depth <= kDepthMax; ++depth) {
    if (number >> depth != 1) continue;
    const uint64_t start = depth == 0 ? 0 : number << (64 - depth);
    Page& page = pages_[PageAt(start)];
    return page.start == start && page.depth == depth ? &page : nullptr;
  }
  return nullptr;
}

bool TextSet::Contains(std::string_view text) const {
  const uint64_t hash = HashOf(text);
  return Find(pages_[PageAt(hash)], hash, text).has_value();
}

bool TextSet::Add(std::string_view text) {
  const uint64_t hash = HashOf(text);
  const size_t index = PageAt(hash);
  Page& page = pages_[index];
  if (Find(page, hash, text)) return false;
  Append(&page, hash, text);
  page.changed = true;
  ++cardinality_;
  SplitIfLarge(index);
  return true;
}

bool TextSet::Remove(std::string_view text) {
  const uint64_t hash = HashOf(text);
  const size_t index = PageAt(hash);
  Page& page = pages_[index];
  const std::optional<Place> place = Find(page, hash, text);
  if (!place) return false;
  char* bytes = page.bytes.get();
  std::memmove(bytes + place->at, bytes + place->next, page.used - place->next);
  page.used -= place->next - place->at;
  --page.count;
  --cardinality_;
  page.changed = true;
  if (page.used == 0) {
    page.bytes.reset();
    page.room = 0;
  } else if (page.used < page.room / 2) {
    const uint32_t room = static_cast<uint32_t>(HeapRoom(page.used));
    if (room < page.room) {
      std::unique_ptr<char[]> smaller(new char[room]);
      std::memcpy(smaller.get(), bytes, page.used);
      page.bytes = std::move(smaller);
      page.room = room;
    }
  }
  MergeIfSmall(index);
  return true;
}

void TextSet::NoteGone(const Page& page) {
  if (page.saved) stale_.push_back(NumberOf(page));
}

void TextSet::SplitIfLarge(size_t index) {
  while (pages_[index].used > kPageBytesMax && pages_[index].count > 1 &&
         pages_[index].depth < kDepthMax) {
    Page whole = std::move(pages_[index]);
    NoteGone(whole);
    Page low, high;
    low.depth = high.depth = static_cast<uint8_t>(whole.depth + 1);
    low.changed = high.changed = true;
    low.start = whole.start;
    high.start = whole.start + SpanOf(low.depth) + 1;
    ForEach(whole, [&](Place, uint8_t, std::string_view text) {
      const uint64_t hash = HashOf(text);
      Append(hash < high.start ? &low : &high, hash, text);
      return true;
    });
    // All may have gone to one side: then that side goes on.
    const bool into_high = low.count == 0;
    pages_[index] = std::move(low);
    pages_.insert(pages_.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(high));
    if (into_high) ++index;
  }
}

void TextSet::MergeIfSmall(size_t index) {
  while (pages_[index].depth > 0) {
    const uint8_t depth = pages_[index].depth;
    const bool is_high = ((pages_[index].start >> (64 - depth)) & 1) != 0;
    const size_t low = is_high ? index - 1 : index;
    if (low + 1 >= pages_.size() || pages_[low].depth != depth || pages_[low + 1].depth != depth ||
        uint64_t{pages_[low].used} + pages_[low + 1].used > kMergedBytesMax) {
      return;
    }
    Page& kept = pages_[low];
    const Page& gone = pages_[low + 1];
    NoteGone(kept);
    NoteGone(gone);
    ForEach(gone, [&](Place, uint8_t tag, std::string_view text) {
      Append(&kept, tag, text);  // of the hash only the tag is needed
      return true;
    });
    --kept.depth;
    kept.saved = false;
    kept.changed = true;
    pages_.erase(pages_.begin() + static_cast<std::ptrdiff_t>(low) + 1);
    if (pages_.size() < pages_.capacity() / 2) pages_.shrink_to_fit();
    index = low;
  }
}

std::optional<uint64_t> TextSet::Collect(uint64_t from, size_t limit,
                                         std::vector<Found>* found) const {
  const size_t before = found->size();
  for (size_t i = PageAt(from); i < pages_.size(); ++i) {
    if (found->size() - before >= limit) return pages_[i].start;
    ForEach(pages_[i], [&](Place, uint8_t, std::string_view text) {
      const uint64_t hash = HashOf(text);
      if (hash >= from) found->emplace_back(hash, text);
      return true;
    });
  }
  return std::nullopt;
}

void TextSet::At(std::span<const uint64_t> ranks, std::vector<std::string>* texts) const {
  size_t index = 0;
  uint64_t before = 0;  // texts in the pages before this one
  for (size_t next = 0; next < ranks.size();) {
    TALLY_ASSERT(ranks[next] < cardinality_);
    while (ranks[next] - before >= pages_[index].count) before += pages_[index++].count;
    uint64_t rank = before;
    ForEach(pages_[index], [&](Place, uint8_t, std::string_view text) {
      for (; next < ranks.size() && ranks[next] == rank; ++next) texts->emplace_back(text);
      ++rank;
      return next < ranks.size();
    });
  }
}

// ---- Images
// ----------------------------------------------------------------------------------------------

void TextSet::EncodeHeader(std::string* out) const {
  if (pages_.size() == 1) {
    out->push_back(static_cast<char>(kWholeForm));
    EncodePage(1, out);
    return;
  }
  out->push_back(static_cast<char>(kDirectoryForm));
  for (const Page& page : pages_) {
    out->push_back(static_cast<char>(page.depth));
    PutVarint(out, page.count);
  }
}

bool TextSet::DecodeHeader(std::string_view bytes, uint64_t seed, TextSet* set) {
  *set = TextSet(seed);
  ByteReader reader(bytes);
  uint8_t form = 0;
  if (!reader.U8(&form)) return false;
  if (form == kWholeForm) {
    TextSet read(seed);
    read.pages_[0].missing = true;
    read.pages_[0].count = UINT32_MAX;  // not known: however many there are
    if (!read.InstallPage(1, reader.rest()) || read.empty()) return false;
    read.pages_[0].saved = false;
    *set = std::move(read);
    return true;
  }
  if (form != kDirectoryForm) return false;
  std::vector<Page> pages;
  uint64_t start = 0;
  bool complete = false;
  while (reader.remaining() > 0) {
    Page page;
    uint64_t count = 0;
    if (complete || !reader.U8(&page.depth) || !reader.Varint(&count)) return false;
    if (page.depth == 0 || page.depth > kDepthMax || count >= UINT32_MAX) return false;
    if ((start & SpanOf(page.depth)) != 0) return false;  // no half of anything begins there
    page.start = start;
    page.count = static_cast<uint32_t>(count);
    page.saved = page.missing = true;
    start += SpanOf(page.depth) + 1;
    complete = start == 0;
    pages.push_back(std::move(page));
  }
  if (!complete) return false;
  set->pages_ = std::move(pages);
  set->pages_.shrink_to_fit();
  return true;
}

std::vector<uint64_t> TextSet::PagesToInstall() const {
  std::vector<uint64_t> numbers;
  for (const Page& page : pages_) {
    if (page.missing) numbers.push_back(NumberOf(page));
  }
  return numbers;
}

bool TextSet::InstallPage(uint64_t number, std::string_view image) {
  Page* page = PageOf(number);
  if (page == nullptr || !page->missing) return false;
  Page read;
  ByteReader reader(image);
  std::string_view text, before;
  while (reader.remaining() > 0) {
    if (!reader.Bytes(&text) || text.size() > kPlainValueBytesMax) return false;
    if (read.count > 0 && text <= before) return false;
    const uint64_t hash = HashOf(text);
    if (hash < page->start || hash - page->start > SpanOf(page->depth)) return false;
    if (uint64_t{read.used} + 6 + text.size() > UINT32_MAX) return false;
    Append(&read, hash, text);
    before = text;
  }
  const bool any_count = page->count == UINT32_MAX;
  if (!any_count && read.count != page->count) return false;
  page->bytes = std::move(read.bytes);
  page->used = read.used;
  page->room = read.room;
  page->count = read.count;
  page->missing = false;
  cardinality_ += read.count;
  return true;
}

void TextSet::EncodePage(uint64_t number, std::string* out) const {
  const Page* page = const_cast<TextSet*>(this)->PageOf(number);
  TALLY_ASSERT(page != nullptr);
  std::vector<std::string_view> texts;
  texts.reserve(page->count);
  ForEach(*page, [&](Place, uint8_t, std::string_view text) {
    texts.push_back(text);
    return true;
  });
  std::sort(texts.begin(), texts.end());
  for (const std::string_view text : texts) PutBytes(out, text);
}

void TextSet::TakePending(std::vector<uint64_t>* changed, std::vector<uint64_t>* stale) {
  stale->insert(stale->end(), stale_.begin(), stale_.end());
  stale_.clear();
  if (pages_.size() == 1) {
    TALLY_ASSERT(!pages_[0].saved);
    return;
  }
  for (Page& page : pages_) {
    if (!page.changed && page.saved) continue;
    changed->push_back(NumberOf(page));
    page.changed = false;
    page.saved = true;
  }
}

void TextSet::StoredPages(std::vector<uint64_t>* pages) const {
  pages->insert(pages->end(), stale_.begin(), stale_.end());
  for (const Page& page : pages_) {
    if (page.saved) pages->push_back(NumberOf(page));
  }
}

size_t TextSet::MemoryBytes() const {
  size_t bytes = HeapBytes(sizeof(TextSet)) + HeapBytes(pages_.capacity() * sizeof(Page));
  if (stale_.capacity() > 0) bytes += HeapBytes(stale_.capacity() * sizeof(uint64_t));
  for (const Page& page : pages_) {
    if (page.room > 0) bytes += HeapBytes(page.room);
  }
  return bytes;
}

bool TextSet::IsValid() const {
  uint64_t start = 0, members = 0;
  for (const Page& page : pages_) {
    if (page.missing || page.start != start || page.depth > kDepthMax) return false;
    if (page.depth == 0 && pages_.size() != 1) return false;
    std::vector<std::string_view> texts;
    bool placed = true;
    ForEach(page, [&](Place, uint8_t tag, std::string_view text) {
      const uint64_t hash = HashOf(text);
      placed = placed && tag == TagOf(hash) && hash >= page.start &&
               hash - page.start <= SpanOf(page.depth);
      texts.push_back(text);
      return true;
    });
    std::sort(texts.begin(), texts.end());
    if (!placed || texts.size() != page.count ||
        std::adjacent_find(texts.begin(), texts.end()) != texts.end()) {
      return false;
    }
    members += page.count;
    start = page.start + SpanOf(page.depth) + 1;
  }
  return start == 0 && members == cardinality_;
}

}  // namespace tallystick
