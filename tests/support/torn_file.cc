#include "tests/support/torn_file.h"

#include "engine/base/assert.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

namespace tallystick {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t Draw(std::mt19937_64* random, uint64_t below) {
  return below == 0 ? 0 : (*random)() % below;
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  TALLY_ASSERT(in.good());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  TALLY_ASSERT(out.good());
}

TailFate DrawFate(std::mt19937_64* random) {
  const uint64_t percent = Draw(random, 100);
  if (percent < 30) return TailFate::kDropped;
  if (percent < 60) return TailFate::kPrefix;
  if (percent < 80) return TailFate::kPages;
  if (percent < 90) return TailFate::kZeros;
  return TailFate::kFlippedBits;
}

void LosePages(std::string* bytes, uint64_t durable, std::mt19937_64* random) {
  uint64_t end = durable;  // the last page that is there sets the length
  for (uint64_t begin = durable; begin < bytes->size();) {
    const uint64_t page_end = std::min<uint64_t>(bytes->size(), (begin / kPage + 1) * kPage);
    if (Draw(random, 2) == 0) {
      std::fill(bytes->begin() + static_cast<ptrdiff_t>(begin),
                bytes->begin() + static_cast<ptrdiff_t>(page_end), '\0');
    } else {
      end = page_end;
    }
    begin = page_end;
  }
  bytes->resize(end);
}

void FlipBits(std::string* bytes, uint64_t durable, std::mt19937_64* random) {
  if (bytes->size() == durable) return;
  for (uint64_t flips = 1 + Draw(random, 3); flips > 0; --flips) {
    char& byte = (*bytes)[durable + Draw(random, bytes->size() - durable)];
    byte = static_cast<char>(byte ^ (1 << Draw(random, 8)));
  }
}

void TearTail(std::string* bytes, uint64_t durable, TailFate fate, std::mt19937_64* random) {
  const uint64_t prefix = durable + Draw(random, bytes->size() - durable + 1);
  switch (fate) {
    case TailFate::kDropped:
      bytes->resize(durable);
      break;
    case TailFate::kPrefix:
      bytes->resize(prefix);
      break;
    case TailFate::kPages:
      LosePages(bytes, durable, random);
      break;
    case TailFate::kZeros:
      std::fill(bytes->begin() + static_cast<ptrdiff_t>(durable), bytes->end(), '\0');
      break;
    case TailFate::kFlippedBits:
      bytes->resize(prefix);
      FlipBits(bytes, durable, random);
      break;
  }
}

void Apply(std::string* bytes, const UnsyncedDisk::Overwrite& write) {
  if (bytes->size() < write.offset + write.bytes.size()) {
    bytes->resize(write.offset + write.bytes.size(), '\0');
  }
  bytes->replace(write.offset, write.bytes.size(), write.bytes);
}

// Every page of an overwritten file is as after some number of the writes, and may be torn between
// that and the next one; pages do not wait for each other.
void TearOverwrites(std::string* bytes, const std::vector<UnsyncedDisk::Overwrite>& writes,
                    std::mt19937_64* random) {
  std::string durable = *bytes;
  for (auto it = writes.rbegin(); it != writes.rend(); ++it) {
    durable.replace(it->offset, it->old_bytes.size(), it->old_bytes);
    durable.resize(it->old_file_bytes);
  }
  std::set<uint64_t> pages;
  for (const auto& write : writes) {
    for (uint64_t page = write.offset / kPage; page * kPage < write.offset + write.bytes.size();
         ++page) {
      pages.insert(page);
    }
  }
  std::string result = durable;
  for (const uint64_t page : pages) {
    const uint64_t applied = Draw(random, writes.size() + 1);
    std::string before = durable;
    for (uint64_t i = 0; i < applied; ++i) Apply(&before, writes[i]);
    std::string after = before;
    if (applied < writes.size()) Apply(&after, writes[applied]);
    const uint64_t torn_at = Draw(random, 2) == 0 ? 0 : Draw(random, kPage);
    const uint64_t begin = page * kPage, middle = begin + torn_at, end = begin + kPage;
    const auto copy = [&result](const std::string& from, uint64_t first, uint64_t last) {
      last = std::min<uint64_t>(last, from.size());
      if (first >= last) return;
      if (result.size() < last) result.resize(last, '\0');
      result.replace(first, last - first, from, first, last - first);
    };
    copy(after, begin, middle);
    copy(before, middle, end);
  }
  *bytes = std::move(result);
}

}  // namespace

void TearFile(const std::string& path, const UnsyncedDisk::File& file, std::mt19937_64* random,
              const TailFate* fate) {
  if (file.bytes == file.durable_bytes && file.overwrites.empty() && file.vanished.empty()) return;
  std::string bytes = ReadAll(path);
  if (!file.overwrites.empty()) {
    TearOverwrites(&bytes, file.overwrites, random);
  } else if (bytes.size() > file.durable_bytes) {
    TearTail(&bytes, file.durable_bytes, fate != nullptr ? *fate : DrawFate(random), random);
  }
  for (const auto& range : file.vanished) {
    for (uint64_t i = range.begin; i < std::min<uint64_t>(range.end, bytes.size()); ++i) {
      bytes[i] = '\0';
    }
  }
  WriteAll(path, bytes);
}

}  // namespace tallystick
