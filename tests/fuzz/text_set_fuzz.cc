// Any bytes as what plain sets of texts and the id dictionary read: refused, or valid and in its
// one encoding. The first byte says which: a header, a page, payloads of the journal, a packed id,
// or operations on a set (texts from the bytes) that must survive a snapshot and a reload.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/assert.h"
#include "engine/facts/packed_id.h"
#include "engine/facts/text_list.h"
#include "engine/facts/text_set.h"

namespace tallystick {
namespace {

constexpr uint64_t kSeed = 3;

void Header(std::string_view bytes) {
  TextSet set(kSeed);
  const bool valid = TextSet::DecodeHeader(bytes, kSeed, &set);
  TALLY_ASSERT(valid || (set.empty() && set.IsValid()));
  if (!valid) return;
  std::string again;
  if (set.PagesToInstall().empty()) {
    TALLY_ASSERT(set.IsValid());
    set.EncodeHeader(&again);
    TALLY_ASSERT(again == bytes);
    TALLY_ASSERT(set.Add("one more") && set.Remove("one more") && set.IsValid());
    return;
  }
  for (const uint64_t page : set.PagesToInstall()) {
    static_cast<void>(set.InstallPage(page, bytes));
  }
}

void Page(std::string_view bytes) {
  std::string header("\x01", 1);
  header.append(bytes);
  Header(header);
}

void Payloads(std::string_view bytes) {
  MembersChange change;
  if (DecodeMembersChange(bytes, &change)) {
    std::string again;
    EncodeMembersChange(change, &again);
    TALLY_ASSERT(again == bytes);
  }
  TextSet texts(kSeed);
  std::string_view list;
  static_cast<void>(DecodeMembers(bytes, &list, &texts));
  TALLY_ASSERT(texts.IsValid());
}

void Packed(std::string_view bytes) {
  std::string id;
  if (!UnpackId(bytes, &id)) return;
  std::string again;
  PackId(id, &again);
  TALLY_ASSERT(again == bytes && PackedIdBytes(again.data()) == again.size());
}

void Operations(std::string_view bytes) {
  TextSet set(kSeed);
  std::set<std::string> model;
  std::map<uint64_t, std::string> disk;
  for (size_t at = 0; at + 1 < bytes.size(); at += 2) {
    const auto what = static_cast<uint8_t>(bytes[at]);
    const std::string text = std::string(what & 63, bytes[at + 1]) + std::to_string(at % 512);
    if (what >= 192) {
      TALLY_ASSERT(set.Remove(text) == (model.erase(text) == 1));
    } else {
      TALLY_ASSERT(set.Add(text) == model.insert(text).second);
    }
  }
  TALLY_ASSERT(set.IsValid() && set.cardinality() == model.size());
  if (set.empty()) return;
  std::vector<uint64_t> changed, stale;
  set.TakePending(&changed, &stale);
  for (const uint64_t page : changed) set.EncodePage(page, &disk[page]);
  std::string header;
  set.EncodeHeader(&header);
  TextSet back(kSeed);
  TALLY_ASSERT(TextSet::DecodeHeader(header, kSeed, &back));
  for (const uint64_t page : back.PagesToInstall())
    TALLY_ASSERT(back.InstallPage(page, disk[page]));
  TALLY_ASSERT(back.IsValid() && back.cardinality() == model.size());
  for (const std::string& text : model) TALLY_ASSERT(back.Contains(text));
}

}  // namespace
}  // namespace tallystick

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      tallystick::Header(bytes);
      break;
    case 1:
      tallystick::Page(bytes);
      break;
    case 2:
      tallystick::Payloads(bytes);
      break;
    case 3:
      tallystick::Packed(bytes);
      break;
    default:
      tallystick::Operations(bytes);
  }
  return 0;
}
