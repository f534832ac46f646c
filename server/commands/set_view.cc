#include "server/commands/set_view.h"

#include "server/commands/key_access.h"
#include "server/resp/number.h"

namespace tallystick::server {

SetLabels MemberLabels(const KeyView& view) {
  if (view.face != Face::kLikes) return {};
  return {.any = kLabelLikesFace, .first = kLabelFirstSet};
}

FactOp MemberOp(FactOpKind kind, SetLabels labels, const FactKey& key, std::string_view member) {
  if (const std::optional<uint64_t> uid = ParseUint64(member)) {
    return {.kind = kind, .labels = labels, .key = key, .uid = *uid};
  }
  return {.kind = kind, .labels = labels, .key = key, .is_text = true, .text = member};
}

bool ReplyRoom::Fits(const Members& members) {
  constexpr uint64_t kHeadBytesMax = 16;  // "$", length, CR LF twice
  for (; seen_ < members.texts.size(); ++seen_) {
    text_bytes_ += kHeadBytesMax + members.texts[seen_].size();
  }
  return members.uids.size() <= kMembersMax &&
         members.uids.size() * (kReplyBytesLimit / kMembersMax) + text_bytes_ <= kReplyBytesLimit;
}

void WriteMembers(ReplyWriter* out, const Members& members) {
  for (const uint64_t uid : members.uids) out->BulkNumber(uid);
  for (const std::string& text : members.texts) out->Bulk(text);
}

Result<SetView> ResolveSet(CommandContext& c, std::string_view key) {
  const Result<KeyView> view = ResolveKey(c, key);
  if (!view) return Fail(view.error());
  const std::optional<FactKey> fact = SetOf(*view);
  if (!fact) return Fail(StatusCode::kWrongType, "");
  return SetView{*view, *fact};
}

Result<SetView> ResolveSetForRead(CommandContext& c, std::string_view key) {
  const Result<SetView> set = ResolveSet(c, key);
  if (!set || set->view.face != Face::kPlain) return set;
  const Result<std::string_view> type = TypeOf(c, set->view);
  if (!type) return Fail(type.error());
  if (*type == "string") return Fail(StatusCode::kWrongType, "");
  return set;
}

}  // namespace tallystick::server
