#include "engine/facts/text_list.h"

#include "engine/base/coding.h"

namespace tallystick {
namespace {

constexpr size_t kPageTexts = 1024;

bool ReadText(ByteReader* reader, std::string_view* text) {
  return reader->Bytes(text) && text->size() <= kPlainValueBytesMax;
}

}  // namespace

void EncodeMembersChange(const MembersChange& change, std::string* out) {
  PutBytes(out, change.uids);
  PutVarint(out, change.added.size());
  for (const std::string_view text : change.added) PutBytes(out, text);
  for (const std::string_view text : change.removed) PutBytes(out, text);
}

bool DecodeMembersChange(std::string_view bytes, MembersChange* change) {
  *change = MembersChange();
  ByteReader reader(bytes);
  uint64_t added = 0;
  if (!reader.Bytes(&change->uids) || !reader.Varint(&added) || added > reader.remaining()) {
    return false;
  }
  std::string_view text;
  while (reader.ok() && change->added.size() < added) {
    if (!ReadText(&reader, &text)) return false;
    change->added.push_back(text);
  }
  while (reader.remaining() > 0) {
    if (!ReadText(&reader, &text)) return false;
    change->removed.push_back(text);
  }
  return reader.ok();
}

void EncodeMembers(std::string_view chunk_list, const TextSet& texts, std::string* out) {
  PutBytes(out, chunk_list);
  std::vector<TextSet::Found> page;
  std::optional<uint64_t> from = 0;
  while (from) {
    page.clear();
    from = texts.Collect(*from, kPageTexts, &page);
    for (const auto& [hash, text] : page) PutBytes(out, text);
  }
}

bool DecodeMembers(std::string_view bytes, std::string_view* chunk_list, TextSet* texts) {
  ByteReader reader(bytes);
  if (!reader.Bytes(chunk_list)) return false;
  std::string_view text;
  while (reader.remaining() > 0) {
    if (!ReadText(&reader, &text) || !texts->Add(text)) return false;
  }
  return reader.ok();
}

}  // namespace tallystick
