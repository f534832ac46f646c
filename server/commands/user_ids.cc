#include "server/commands/user_ids.h"

#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

bool HasIds(CommandContext& c, const FactKey& key) {
  return !c.server.engine().IdNamespace(key.etype).empty();
}

Result<std::optional<std::vector<uint64_t>>> UidsOf(CommandContext& c, const FactKey& key,
                                                    std::span<const std::string_view> words,
                                                    bool give) {
  std::vector<uint64_t> uids(words.size());
  if (HasIds(c, key)) {
    Engine& engine = c.server.engine();  // what waits in the batch does not matter
    const Status status = give ? engine.GiveOrdinals(key.etype, words, uids)
                               : engine.FindOrdinals(key.etype, words, uids);
    if (!status.ok()) return Fail(status);
    return std::optional(std::move(uids));
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const std::optional<uint64_t> uid = ParseUint64(words[i]);
    if (!uid) return std::optional<std::vector<uint64_t>>();
    uids[i] = *uid;
  }
  return std::optional(std::move(uids));
}

Status NameMembers(CommandContext& c, const FactKey& key, Members* members) {
  if (members->uids.empty() || !HasIds(c, key)) return {};
  const Status status = c.engine().ReadIds(key.etype, members->uids, &members->texts);
  members->uids.clear();
  return status;
}

}  // namespace tallystick::server
