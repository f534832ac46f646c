// What the commands on sets share: from a key to the fact set behind it.
#pragma once

#include <string_view>

#include "server/commands/command.h"
#include "server/commands/key_access.h"
#include "server/key_templates.h"

namespace tallystick::server {

struct SetView {
  KeyView view;
  FactKey key;
};

// Labels of members that are added through a view.
SetLabels MemberLabels(const KeyView& view);

// The fact set behind a key; kWrongType for chunks and records.
Result<SetView> ResolveSet(CommandContext& c, std::string_view key);

// An operation on a member as it is named on the wire. `member` must outlive it.
FactOp MemberOp(FactOpKind kind, SetLabels labels, const FactKey& key, std::string_view member);

// Uids that a reply may hold: "$20", CR LF, 20 digits, CR LF each.
inline constexpr uint64_t kMembersMax = kReplyBytesLimit / 27;
// Whether a reply may hold the members gathered so far. Asked again and again while they grow at
// their ends.
class ReplyRoom {
 public:
  bool Fits(const Members& members);

 private:
  size_t seen_ = 0;
  uint64_t text_bytes_ = 0;
};
// Bulk strings; the header of the array is the caller's.
void WriteMembers(ReplyWriter* out, const Members& members);

// As ResolveSet, and a plain key of another type is kWrongType too. For commands outside the batch.
Result<SetView> ResolveSetForRead(CommandContext& c, std::string_view key);

}  // namespace tallystick::server
