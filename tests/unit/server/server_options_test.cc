// Proves that flags and configuration file set the same options with the same limits, that flags
// win, and that a mistake is named with file and line: by examples.
#include "server/server_options.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_dir.h"

namespace tallystick::server {
namespace {

std::string ErrorOf(std::string_view text) {
  ServerOptions options;
  return std::string(ParseConfigText(text, "conf", &options).message());
}

CommandLine ParseArguments(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tallystick-server");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

TEST(ServerOptions, TheFileSetsWhatItNames) {
  ServerOptions options;
  const Status status = ParseConfigText(
      "# a comment\n; another\n\nport = 7000\ndir=/tmp/x\nproto-max-bulk-len = 2mb\n"
      "requirepass = \"a # b\"\r\n[schema]\narticle = like:facts comment:facts+counter\n"
      "* = like:facts\n[server]\ndurability = always\n",
      "conf", &options);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(options.port, 7000u);
  EXPECT_EQ(options.dir, "/tmp/x");
  EXPECT_EQ(options.proto_max_bulk_len, 2u << 20);
  EXPECT_EQ(options.requirepass, "a # b");
  EXPECT_EQ(options.durability, "always");
  ASSERT_EQ(options.schema.types.size(), 2u);
  EXPECT_EQ(options.schema.types[0].etype, "article");
  EXPECT_EQ(options.schema.types[0].slots.size(), 2u);
  EXPECT_TRUE(options.schema.types[0].slots[1].has_counter);
  EXPECT_EQ(options.schema.types[1].etype, "*");
}

TEST(ServerOptions, MistakesAreNamedWithFileAndLine) {
  EXPECT_EQ(ErrorOf("port = 1\nprot = 2\n"), "conf:2: unknown setting 'prot'");
  EXPECT_EQ(ErrorOf("port = 65536"), "conf:1: 'port' must be a number from 0 to 65535");
  EXPECT_EQ(ErrorOf("port = 01"), "conf:1: 'port' must be a number from 0 to 65535");
  EXPECT_EQ(ErrorOf("\nhello"), "conf:2: expected `name = value`");
  EXPECT_EQ(ErrorOf("durability = sometimes"),
            "conf:1: 'durability' must be one of: always everysec no");
  EXPECT_EQ(ErrorOf("accept-loss = maybe"), "conf:1: 'accept-loss' must be yes or no");
  EXPECT_EQ(ErrorOf("[nosuch]"), "conf:1: unknown section; there are [server], [schema] and [ids]");
  EXPECT_EQ(ErrorOf("config = other"), "conf:1: unknown setting 'config'");
  EXPECT_EQ(ErrorOf("[schema]\na = like\na = fav"), "conf:3: entity type 'a' is declared twice");
  EXPECT_EQ(ErrorOf("[schema]\narticle = like:nosense").substr(0, 8), "conf:2: ");
}

TEST(ServerOptions, BytesHaveRedisUnits) {
  ServerOptions options;
  const Parameter* parameter = FindParameter("PROTO-MAX-BULK-LEN");
  ASSERT_NE(parameter, nullptr);
  for (const auto& [text, bytes] : {std::pair{"16mb", 16u << 20},
                                    {"2M", 2000000u},
                                    {"1gb", 0u},
                                    {"1048576", 1048576u},
                                    {"12q", 0u},
                                    {"", 0u}}) {
    const Status status = SetParameter(*parameter, text, &options);
    EXPECT_EQ(status.ok(), bytes != 0) << text;
    if (bytes != 0) {
      EXPECT_EQ(options.proto_max_bulk_len, bytes);
    }
  }
}

TEST(ServerOptions, EveryParameterKeepsItsOwnDefault) {
  for (const Parameter& parameter : Parameters()) {
    ServerOptions options;
    const std::string value = GetParameter(parameter, options);
    EXPECT_TRUE(SetParameter(parameter, value, &options).ok()) << parameter.name;
    EXPECT_EQ(GetParameter(parameter, options), value) << parameter.name;
    EXPECT_EQ(FindParameter(parameter.name), &parameter);
  }
}

TEST(ServerOptions, FlagsWinOverTheFile) {
  const TempDir dir;
  const std::string path = dir / "conf";
  std::ofstream(path) << "port = 7000\nmaxclients = 5\n";
  const CommandLine line = ParseArguments({"--config", path.c_str(), "--port", "7001"});
  ASSERT_EQ(line.action, CommandLine::Action::kRun) << line.text;
  EXPECT_EQ(line.options.port, 7001u);
  EXPECT_EQ(line.options.maxclients, 5u);
}

TEST(ServerOptions, TheCommandLineSaysWhatIsWrong) {
  EXPECT_EQ(ParseArguments({"--help"}).action, CommandLine::Action::kPrint);
  EXPECT_NE(ParseArguments({"--help"}).text.find("--proto-max-bulk-len"), std::string::npos);
  EXPECT_NE(ParseArguments({"--help"}).text.find("[512; 2 to 32768]"), std::string::npos);
  EXPECT_EQ(ParseArguments({"--bind", ""}).action, CommandLine::Action::kFail);
  EXPECT_EQ(ParseArguments({"--dir", " "}).action, CommandLine::Action::kFail);
  EXPECT_EQ(ParseArguments({"--ring-events-per-shard", "1"}).action, CommandLine::Action::kFail);
  EXPECT_EQ(ParseArguments({"--version"}).action, CommandLine::Action::kPrint);
  EXPECT_EQ(ParseArguments({"--nosuch"}).action, CommandLine::Action::kFail);
  const CommandLine bad = ParseArguments({"--port", "x"});
  EXPECT_EQ(bad.action, CommandLine::Action::kFail);
  EXPECT_NE(bad.text.find("'port' must be a number"), std::string::npos) << bad.text;
  const CommandLine missing = ParseArguments({"--config", "/nonexistent/conf"});
  EXPECT_EQ(missing.action, CommandLine::Action::kFail);
  EXPECT_NE(missing.text.find("/nonexistent/conf"), std::string::npos);
  EXPECT_TRUE(ParseArguments({"--accept-loss"}).options.accept_loss);
}

}  // namespace
}  // namespace tallystick::server
