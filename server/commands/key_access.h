// What the families that work on keys share: from a key to the part of the engine behind it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/commands/command.h"
#include "server/key_templates.h"

namespace tallystick::server {

inline constexpr size_t kReplyBytesLimit = 64u << 20;  // of any single reply

// The view that a key names now: a likes face under which a plain key lives is that plain key.
// kInvalidArgument: a reserved or overlong name. Does not flush the batch, so that batched commands
// may use it.
Result<KeyView> ResolveKey(CommandContext& c, std::string_view key);

// A view's existence and type as TYPE tells it: "none", "string" or "set".
Result<std::string_view> TypeOf(CommandContext& c, const KeyView& view);

// Length in bytes of a view as a Redis string; of bits that is up to the last set one. kWrongType
// for a plain set. 0 when the key does not exist.
Result<uint64_t> StringBytes(CommandContext& c, const KeyView& view);

// The bytes of a view as a Redis string; nullopt when the key does not exist. kTooLarge beyond
// kReplyBytesLimit.
Result<std::optional<std::string>> StringValue(CommandContext& c, const KeyView& view);

// The fact set of a bitmap view (kPlain, kChunk, kLikes) and its first uid (bit 0).
FactKey BitsOf(const KeyView& view);
uint64_t FirstUidOf(const KeyView& view);

// The fact set of a view as a Redis set; nullopt when the view is none (WRONGTYPE).
std::optional<FactKey> SetOf(const KeyView& view);

}  // namespace tallystick::server
