#include "server/commands/set_view.h"

#include "server/commands/key_access.h"

namespace tallystick::server {

SetLabels MemberLabels(const KeyView& view) {
  if (view.face != Face::kLikes) return {};
  return {.any = kLabelLikesFace, .first = kLabelFirstSet};
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
