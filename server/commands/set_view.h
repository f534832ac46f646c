// What the commands on sets share: from a key to the fact set behind it.
#pragma once

#include <string_view>

#include "server/commands/command.h"
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

// As ResolveSet, and a plain key of another type is kWrongType too. For commands outside the batch.
Result<SetView> ResolveSetForRead(CommandContext& c, std::string_view key);

}  // namespace tallystick::server
