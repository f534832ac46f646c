// Texts of plain sets as journal payload. Layout per byte in docs/formats/journal.md. Pure
// functions; readers treat their bytes as hostile and their views point into them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/facts/text_set.h"

namespace tallystick {

// Payload of EventKind::kMembersChange: what a plain set gained and lost.
struct MembersChange {
  std::string_view uids;  // a payload of kBulkChange (EncodeChange); empty: no uid changed
  std::vector<std::string_view> added;
  std::vector<std::string_view> removed;
};
void EncodeMembersChange(const MembersChange& change, std::string* out);
bool DecodeMembersChange(std::string_view bytes, MembersChange* change);

// Payload of EventKind::kPlainMembers: a chunk list of the uids, then all texts of `texts`.
void EncodeMembers(std::string_view chunk_list, const TextSet& texts, std::string* out);
// Adds to *texts. False when malformed, or when a text is there twice.
bool DecodeMembers(std::string_view bytes, std::string_view* chunk_list, TextSet* texts);

}  // namespace tallystick
