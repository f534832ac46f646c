// CLIENT and its subcommands.
#include <algorithm>
#include <vector>

#include "server/commands/handlers.h"
#include "server/error_reply.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

bool IsPrintableWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '!' && c <= '~'; });
}

constexpr std::string_view kClientIdError = "ERR client-id should be greater than 0";

struct KillFilter {
  std::optional<uint64_t> id;
  std::optional<std::string_view> address;
  std::optional<std::string_view> local_address;
  bool skip_me = true;

  bool Matches(const ClientState& client) const {
    return (!id || client.id == *id) && (!address || client.address == *address) &&
           (!local_address || client.local_address == *local_address);
  }
};

// Parses "ID 5 ADDR ..." from args[2] on; an empty text when all is well.
std::string_view ParseKillFilter(const CommandContext& c, KillFilter* filter) {
  if (c.argc() % 2 != 0) return error::kSyntax;
  for (size_t i = 2; i < c.argc(); i += 2) {
    const std::string_view value = c.args[i + 1];
    if (c.Is(i, "ID")) {
      const std::optional<int64_t> id = ParseInt64(value);
      if (!id || *id < 1) return kClientIdError;
      filter->id = static_cast<uint64_t>(*id);
    } else if (c.Is(i, "ADDR")) {
      filter->address = value;
    } else if (c.Is(i, "LADDR")) {
      filter->local_address = value;
    } else if (c.Is(i, "SKIPME") && (c.Is(i + 1, "yes") || c.Is(i + 1, "no"))) {
      filter->skip_me = c.Is(i + 1, "yes");
    } else if (c.Is(i, "USER") && value == "default") {
      continue;
    } else if (c.Is(i, "TYPE") && c.Is(i + 1, "normal")) {
      continue;
    } else {
      return error::kSyntax;
    }
  }
  return {};
}

std::string DescribeIf(CommandContext& c, const std::function<bool(const ClientState&)>& wanted) {
  std::string text;
  const int64_t now_ms = MonotonicMs();
  c.server.clients().ForEach([&](const ClientState& client) {
    if (wanted(client)) text.append(ClientRegistry::Describe(client, now_ms)).push_back('\n');
  });
  return text;
}

}  // namespace

Flow ClientId(CommandContext& c) {
  c.reply().Unsigned(c.client.id);
  return Flow::kNext;
}

Flow ClientSetName(CommandContext& c) {
  if (!IsPrintableWord(c.args[2])) return c.Error(error::kClientName);
  c.server.clients().Set(&ClientState::name, &c.client, c.args[2]);
  c.reply().Ok();
  return Flow::kNext;
}

Flow ClientGetName(CommandContext& c) {
  const std::string name = c.server.clients().Get(&ClientState::name, c.client);
  if (name.empty()) {
    c.reply().Null();
  } else {
    c.reply().Bulk(name);
  }
  return Flow::kNext;
}

Flow ClientSetInfo(CommandContext& c) {
  const bool is_name = c.Is(2, "LIB-NAME");
  if (!is_name && !c.Is(2, "LIB-VER")) {
    return c.Error("ERR Unrecognized option '" + std::string(c.args[2]) + "'");
  }
  if (!IsPrintableWord(c.args[3])) {
    return c.Error("ERR " + std::string(is_name ? "lib-name" : "lib-ver") +
                   " cannot contain spaces, newlines or special characters.");
  }
  c.server.clients().Set(is_name ? &ClientState::lib_name : &ClientState::lib_version, &c.client,
                         c.args[3]);
  c.reply().Ok();
  return Flow::kNext;
}

Flow ClientInfo(CommandContext& c) {
  const uint64_t own = c.client.id;
  c.reply().Verbatim(DescribeIf(c, [own](const ClientState& client) { return client.id == own; }));
  return Flow::kNext;
}

Flow ClientList(CommandContext& c) {
  std::vector<uint64_t> ids;
  bool any_type = true;
  if (c.argc() == 4 && c.Is(2, "TYPE")) {
    constexpr std::string_view kTypes[] = {"normal", "master", "replica", "slave", "pubsub"};
    if (std::none_of(std::begin(kTypes), std::end(kTypes),
                     [&c](std::string_view type) { return c.Is(3, type); })) {
      return c.Error("ERR Unknown client type '" + std::string(c.args[3]) + "'");
    }
    any_type = c.Is(3, "normal");
  } else if (c.argc() > 3 && c.Is(2, "ID")) {
    for (std::string_view argument : c.args.subspan(3)) {
      const std::optional<int64_t> id = ParseInt64(argument);
      if (!id || *id < 1) return c.Error("ERR Invalid client ID");
      ids.push_back(static_cast<uint64_t>(*id));
    }
  } else if (c.argc() != 2) {
    return c.Error(error::kSyntax);
  }
  c.reply().Verbatim(DescribeIf(c, [&](const ClientState& client) {
    return any_type && (ids.empty() || std::find(ids.begin(), ids.end(), client.id) != ids.end());
  }));
  return Flow::kNext;
}

Flow ClientKill(CommandContext& c) {
  KillFilter filter;
  const bool old_form = c.argc() == 3;
  if (old_form) {
    filter.address = c.args[2];
    filter.skip_me = false;
  } else {
    const std::string_view wrong = ParseKillFilter(c, &filter);
    if (!wrong.empty()) return c.Error(wrong);
  }
  std::vector<uint64_t> victims;
  c.server.clients().ForEach([&](const ClientState& client) {
    if (filter.Matches(client) && !(filter.skip_me && client.id == c.client.id)) {
      victims.push_back(client.id);
    }
  });
  if (old_form && victims.empty()) return c.Error(error::kNoSuchClient);
  bool suicide = false;
  for (uint64_t id : victims) {
    suicide |= id == c.client.id;
    if (id != c.client.id) c.server.control().CloseClient(id);
  }
  if (old_form) {
    c.reply().Ok();
  } else {
    c.reply().Unsigned(victims.size());
  }
  return suicide ? Flow::kClose : Flow::kNext;
}

Flow ClientNoEvict(CommandContext& c) {
  if (!c.Is(2, "ON") && !c.Is(2, "OFF")) return c.Error(error::kSyntax);
  c.reply().Ok();
  return Flow::kNext;
}

}  // namespace tallystick::server
