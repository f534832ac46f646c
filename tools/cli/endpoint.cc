#include "tools/cli/endpoint.h"

#include <cstdio>

namespace tallystick {

Result<std::unique_ptr<RespClient>> ConnectTo(const Endpoint& endpoint) {
  RespClientOptions options;
  options.host = endpoint.host;
  options.port = endpoint.port;
  Result<std::unique_ptr<RespClient>> client = RespClient::Connect(options);
  if (!client || endpoint.password.empty()) return client;
  const Result<RespReply> reply = (*client)->Call({"AUTH", endpoint.password});
  if (!reply) return Fail(reply.error());
  if (reply->IsError()) {
    return Fail(StatusCode::kInvalidArgument, "the server answered AUTH with " + reply->text);
  }
  return client;
}

ExitCode FailWith(ExitCode code, const std::string& message) {
  std::fprintf(stderr, "tallystick: %s\n", message.c_str());
  return code;
}

}  // namespace tallystick
