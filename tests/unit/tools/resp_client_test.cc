// Proves that the client sends exactly what RESP asks for, keeps replies in order over a pipeline
// that is larger than all socket buffers, and reports a lost, silent or foreign server clearly.
// How: a server that follows a script on a socket.
#include "tools/cli/resp_client.h"
#include "tests/unit/tools/scripted_server.h"

#include <gtest/gtest.h>

#include <string>

namespace tallystick {
namespace {

std::unique_ptr<RespClient> ConnectTo(const ScriptedServer& server, int reply_timeout_ms = 10000) {
  RespClientOptions options;
  options.port = server.port();
  options.reply_timeout_ms = reply_timeout_ms;
  Result<std::unique_ptr<RespClient>> client = RespClient::Connect(options);
  EXPECT_TRUE(client.has_value()) << client.error().ToString();
  return client ? std::move(*client) : nullptr;
}

TEST(RespClient, SendsBulkArraysAndReadsTheReply) {
  const std::string sent =
      "*3\r\n$8\r\nFACT.ADD\r\n$6\r\nlike:a\r\n$3\r\n" + std::string(1, 0) + "\r\n\r\n";
  std::string seen;
  {
    ScriptedServer server([&](ScriptedServer::Connection& connection) {
      seen = connection.Read(sent.size());
      connection.Send(":1\r\n");
    });
    const auto client = ConnectTo(server);
    ASSERT_NE(client, nullptr);
    const Result<RespReply> reply =
        client->Call({"FACT.ADD", "like:a", std::string_view("\0\r\n", 3)});
    ASSERT_TRUE(reply.has_value()) << reply.error().ToString();
    EXPECT_EQ(reply->integer, 1);
    EXPECT_EQ(client->outstanding(), 0u);
  }
  EXPECT_EQ(seen, sent);
}

TEST(RespClient, APipelineLargerThanAllBuffersDoesNotDeadlock) {
  // Like a real server: it answers each command at once and stops reading while its answers do not
  // go.
  constexpr int kCommands = 200000;
  const std::string command = "*2\r\n$4\r\nECHO\r\n$20\r\nabcdefghijklmnopqrst\r\n";
  const std::string answer = "$200\r\n" + std::string(200, 'y') + "\r\n";
  ScriptedServer server([&](ScriptedServer::Connection& connection) {
    for (int i = 0; i < kCommands; ++i) {
      if (connection.Read(command.size()) != command) return;
      connection.Send(answer);
    }
  });
  const auto client = ConnectTo(server);
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < kCommands; ++i) client->Queue({"ECHO", "abcdefghijklmnopqrst"});
  ASSERT_TRUE(client->Flush().ok());
  for (int i = 0; i < kCommands; ++i) {
    const Result<RespReply> reply = client->Read();
    ASSERT_TRUE(reply.has_value()) << reply.error().ToString();
    ASSERT_EQ(reply->text.size(), 200u);
  }
  EXPECT_EQ(client->outstanding(), 0u);
}

TEST(RespClient, RepliesBeforeTheEndAreHandedOutThenTheLossIsNamed) {
  ScriptedServer server([](ScriptedServer::Connection& connection) {
    connection.Send("+OK\r\n-NOAUTH who are you\r\n");
  });
  const auto client = ConnectTo(server);
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < 3; ++i) client->Queue({"PING"});
  const Result<RespReply> first = client->Read();
  ASSERT_TRUE(first.has_value()) << first.error().ToString();
  EXPECT_EQ(first->text, "OK");
  const Result<RespReply> second = client->Read();
  ASSERT_TRUE(second.has_value()) << second.error().ToString();
  EXPECT_EQ(second->ErrorWord(), "NOAUTH");
  for (int i = 0; i < 2; ++i) {
    const Result<RespReply> third = client->Read();
    ASSERT_FALSE(third.has_value());
    EXPECT_EQ(third.error().code(), StatusCode::kIoError);
    EXPECT_NE(third.error().message().find("127.0.0.1:" + std::to_string(server.port())),
              std::string::npos);
  }
  EXPECT_FALSE(client->Flush().ok());
  EXPECT_EQ(client->outstanding(), 1u);
}

TEST(RespClient, ASilentServerTimesOut) {
  ScriptedServer server([](ScriptedServer::Connection& connection) { connection.Read(1000); });
  const auto client = ConnectTo(server, 1);
  ASSERT_NE(client, nullptr);
  const Result<RespReply> reply = client->Call({"PING"});
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code(), StatusCode::kTimedOut);
}

TEST(RespClient, AForeignServerIsNamed) {
  ScriptedServer server([](ScriptedServer::Connection& connection) {
    connection.Send("220 mail.example ESMTP\r\n");
  });
  const auto client = ConnectTo(server);
  ASSERT_NE(client, nullptr);
  const Result<RespReply> reply = client->Call({"PING"});
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code(), StatusCode::kCorruption);
}

TEST(RespClient, NobodyListens) {
  uint16_t port = 0;
  {
    ScriptedServer server([](ScriptedServer::Connection&) {});
    port = server.port();
  }
  RespClientOptions options;
  options.port = port;
  const auto client = RespClient::Connect(options);
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code(), StatusCode::kIoError);
  EXPECT_NE(client.error().message().find("cannot connect to 127.0.0.1:"), std::string::npos);
  options.host = "no such host";
  EXPECT_FALSE(RespClient::Connect(options).has_value());
}

}  // namespace
}  // namespace tallystick
