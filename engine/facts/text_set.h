// TextSet: the members of a plain set that are no numbers (byte strings of any content).
//
// Texts lie in pages by the first bits of their hash, as in extendible hashing: a page that grows
// beyond 2 KiB splits in two halves of its range, two halves that became small merge again. So no
// operation touches more than a few KiB, an image is written page by page, and a walk in hash order
// is stable under change. The directory is the sorted list of the pages. In a page the texts follow
// each other, a byte of hash and the length before each: a text costs its own length and about
// three bytes, where a table of strings takes 40 to 60.
//
// A set of one page is saved inside its entity's image, a larger one as a directory there and a
// chunk record for each page, under the page's number (docs/formats/set-image.md). Pages are always
// here: a set is loaded whole.
//
// The hash is seeded per database, so that nobody outside can choose texts of one page. All sets
// that are compared with each other have the same seed.
//
// Pure; the shard's lock guards it.
#pragma once

#include <tallystick/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tallystick {

class TextSet {
 public:
  // A text and its position: its hash.
  using Found = std::pair<uint64_t, std::string>;

  explicit TextSet(uint64_t seed);

  // O(one page).
  bool Contains(std::string_view text) const;
  bool Add(std::string_view text);     // true when it was not there
  bool Remove(std::string_view text);  // true when it was there
  uint64_t cardinality() const { return cardinality_; }
  bool empty() const { return cardinality_ == 0; }

  // Appends whole pages of texts from position `from` on until there are at least `limit`; the
  // position to continue from, or nullopt at the end. Sorted by position only from page to page.
  std::optional<uint64_t> Collect(uint64_t from, size_t limit, std::vector<Found>* found) const;
  // Appends the texts that have so many others before them (ascending, all below the cardinality),
  // in an order that holds until the next change. O(pages + ranks * one page).
  void At(std::span<const uint64_t> ranks, std::vector<std::string>* texts) const;

  // ---- Images
  // ---- The texts themselves while there is one page, else the directory.
  void EncodeHeader(std::string* out) const;
  // Validates untrusted bytes; pages that the directory names must then be installed, in any order,
  // before anything else is done. False leaves *set empty.
  static bool DecodeHeader(std::string_view bytes, uint64_t seed, TextSet* set);
  // Numbers of the pages whose records a header that was just decoded names.
  std::vector<uint64_t> PagesToInstall() const;
  // False (and unchanged) when `image` is not a valid image of that page.
  bool InstallPage(uint64_t page, std::string_view image);
  void EncodePage(uint64_t page, std::string* out) const;
  // What the next snapshot must write (pages that changed since the last call) and delete (pages
  // that an earlier one wrote and that are gone). Forgets both. Deletes come before writes.
  void TakePending(std::vector<uint64_t>* changed, std::vector<uint64_t>* stale);
  // Pages that a snapshot wrote and that are to be deleted when the set goes as a whole.
  void StoredPages(std::vector<uint64_t>* pages) const;

  size_t MemoryBytes() const;  // sizeof(TextSet) included
  bool IsValid() const;        // O(bytes)

 private:
  struct Page {
    uint64_t start = 0;  // hashes from here on, 2^(64 - depth) of them
    std::unique_ptr<char[]> bytes;
    uint32_t used = 0;
    uint32_t room = 0;
    uint32_t count = 0;
    uint8_t depth = 0;
    bool changed = false;  // since it was last written
    bool saved = false;    // it has a record
    bool missing = false;  // named by a directory, not yet installed
  };
  struct Place {
    uint32_t at = 0;    // of the entry's first byte
    uint32_t next = 0;  // of the entry behind it
  };

  uint64_t HashOf(std::string_view text) const;
  size_t PageAt(uint64_t hash) const;
  std::optional<Place> Find(const Page& page, uint64_t hash, std::string_view text) const;
  template <typename Visit>
  static void ForEach(const Page& page, Visit visit);
  static void Append(Page* page, uint64_t hash, std::string_view text);
  static uint64_t NumberOf(const Page& page);
  Page* PageOf(uint64_t number);
  void NoteGone(const Page& page);
  void SplitIfLarge(size_t index);
  void MergeIfSmall(size_t index);

  uint64_t seed_;
  uint64_t cardinality_ = 0;
  std::vector<Page> pages_;      // by start; together they cover every hash
  std::vector<uint64_t> stale_;  // may repeat pages, and name some that are there again
};

}  // namespace tallystick
