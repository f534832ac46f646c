// Uids as clients write them: decimal numbers, or (of entity types with a namespace of ids) any
// bytes, which the engine's id dictionary maps to ordinals.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "server/commands/command.h"

namespace tallystick::server {

// Whether the uids of this fact set are ordinals. Cheap where no entity type has ids.
bool HasIds(CommandContext& c, const FactKey& key);

// The uids that words stand for. `give`: ids that are new get an ordinal; else they become
// kNoOrdinal, which is in no set. Words that are no uids: nullopt where uids are numbers.
Result<std::optional<std::vector<uint64_t>>> UidsOf(CommandContext& c, const FactKey& key,
                                                    std::span<const std::string_view> words,
                                                    bool give);

// Of a fact set with ids: its members' uids become the ids that they stand for, among the texts. Of
// others nothing changes.
Status NameMembers(CommandContext& c, const FactKey& key, Members* members);

}  // namespace tallystick::server
