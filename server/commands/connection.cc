// Commands about the connection itself: handshake, authentication, goodbye.
#include <tallystick/version.h>

#include "server/commands/handlers.h"
#include "server/error_reply.h"
#include "server/log.h"
#include "server/redis_identity.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

constexpr std::string_view kDefaultUser = "default";

bool IsClientName(std::string_view name) {
  for (char c : name) {
    if (c < '!' || c > '~') return false;
  }
  return true;
}

// Checks user and password and marks the client. False: the caller answers kWrongPass.
bool TryAuthenticate(CommandContext& c, std::string_view user, std::string_view password) {
  // Without a password the default user accepts any, as in Redis.
  const bool right =
      user == kDefaultUser && (!c.server.password_required() || c.server.PasswordMatches(password));
  if (right) {
    c.client.authenticated = true;
    return true;
  }
  c.server.counters().auth_failures.fetch_add(1, std::memory_order_relaxed);
  LogClientTrouble(c.client, "authentication failed");
  return false;
}

}  // namespace

Flow Ping(CommandContext& c) {
  if (c.argc() > 2) return c.Error(ArityError(c.spec.name));
  if (c.argc() == 2) {
    c.reply().Bulk(c.args[1]);
  } else {
    c.reply().Simple("PONG");
  }
  return Flow::kNext;
}

Flow Echo(CommandContext& c) {
  c.reply().Bulk(c.args[1]);
  return Flow::kNext;
}

Flow Auth(CommandContext& c) {
  if (c.argc() > 3) return c.Error(error::kSyntax);
  if (c.argc() == 2 && !c.server.password_required()) return c.Error(error::kAuthNotConfigured);
  const std::string_view user = c.argc() == 3 ? c.args[1] : kDefaultUser;
  if (!TryAuthenticate(c, user, c.args.back())) return c.Error(error::kWrongPass);
  c.reply().Ok();
  return Flow::kNext;
}

Flow Hello(CommandContext& c) {
  int protocol = c.writer.protocol();
  size_t next = 1;
  if (c.argc() > 1) {
    const std::optional<int64_t> version = ParseInt64(c.args[1]);
    if (!version) return c.Error(error::kProtocolNotInteger);
    if (*version != 2 && *version != 3) return c.Error(error::kNoProto);
    protocol = static_cast<int>(*version);
    next = 2;
  }
  std::string_view user;
  std::string_view password;
  std::string_view name;
  bool has_auth = false;
  bool has_name = false;
  while (next < c.argc()) {
    const size_t more = c.argc() - next - 1;
    if (c.Is(next, "AUTH") && more >= 2) {
      user = c.args[next + 1];
      password = c.args[next + 2];
      has_auth = true;
      next += 3;
    } else if (c.Is(next, "SETNAME") && more >= 1) {
      name = c.args[next + 1];
      if (!IsClientName(name)) return c.Error(error::kClientName);
      has_name = true;
      next += 2;
    } else {
      return c.Error("ERR Syntax error in HELLO option '" + std::string(c.args[next]) + "'");
    }
  }
  if (has_auth && !TryAuthenticate(c, user, password)) return c.Error(error::kWrongPass);
  if (!c.client.authenticated && c.server.password_required()) return c.Error(error::kHelloNoAuth);
  if (has_name) c.server.clients().Set(&ClientState::name, &c.client, name);

  ReplyWriter& out = c.reply();
  out.set_protocol(protocol);
  out.Map(8);
  out.Bulk("server");
  out.Bulk("redis");
  out.Bulk("version");
  out.Bulk(kRedisVersion);
  out.Bulk("proto");
  out.Integer(protocol);
  out.Bulk("id");
  out.Unsigned(c.client.id);
  out.Bulk("mode");
  out.Bulk("standalone");
  out.Bulk("role");
  out.Bulk("master");
  out.Bulk("modules");
  out.Array(0);
  out.Bulk("tallystick_version");
  out.Bulk(TALLYSTICK_VERSION);
  return Flow::kNext;
}

Flow Select(CommandContext& c) {
  const std::optional<int64_t> index = ParseInt64(c.args[1]);
  if (!index) return c.Error(error::kNotInteger);
  if (*index != 0) return c.Error(error::kDbIndex);
  c.reply().Ok();
  return Flow::kNext;
}

Flow Quit(CommandContext& c) {
  c.reply().Ok();
  return Flow::kClose;
}

Flow Reset(CommandContext& c) {
  ReplyWriter& out = c.reply();
  out.set_protocol(2);
  c.server.clients().Set(&ClientState::name, &c.client, "");
  c.client.authenticated = !c.server.password_required();
  out.Simple("RESET");
  return Flow::kNext;
}

Flow HttpRequest(CommandContext& c) {
  LogClientTrouble(c.client,
                   "sent HTTP (POST or Host:), perhaps a cross-protocol attack; connection closed");
  return Flow::kClose;
}

}  // namespace tallystick::server
