// What a server says about its entities: which there are, and the proof of each.
#pragma once

#include "tools/cli/resp_client.h"

#include <tallystick/counts.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tallystick {

// The fact key that a listed Redis key is a view of, as `metric:etype:eid`: of
// `bm:{metric}:{etype}:{eid}:{chunk}`, or metric like of `{etype}:likes:{eid}`. nullopt: of
// neither.
std::optional<std::string> FactKeyOfView(std::string_view key);

// Calls `visit` with every key that matches the pattern (Redis's glob), some perhaps twice.
Status ScanKeys(RespClient* client, const std::string& pattern,
                const std::function<void(const std::string& key)>& visit);

// A pattern that matches exactly this text.
std::string EscapeGlob(std::string_view text);

// What COUNT.VERIFY answered. nullopt: it was something else.
std::optional<Verification> ParseVerification(const RespReply& reply);

}  // namespace tallystick
