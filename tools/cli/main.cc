// The command line of `tallystick`; kept apart because CLI11's header is slow to compile.
#include "tools/cli/dump_command.h"
#include "tools/cli/replay_command.h"
#include "tools/cli/verify_command.h"

#include <tallystick/version.h>

#include <CLI/CLI.hpp>

#include <iostream>
#include <string>

namespace tallystick {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 drift was found, or the command could not be carried out; 2 the "
    "command\n"
    "line is wrong; 3 the data directory was refused (in use, damaged, of another format).\n"
    "A password for the server is taken from the environment variable TALLYSTICK_PASSWORD.";

// Where the command works: --dir, or --host and --port.
void AddEndpoint(CLI::App* command, Endpoint* endpoint) {
  CLI::Option* dir =
      command->add_option("--dir", endpoint->dir, "work on this data directory, without a server");
  CLI::Option* host = command->add_option("--host", endpoint->host, "server to talk to");
  CLI::Option* port = command->add_option("--port", endpoint->port, "its port");
  host->capture_default_str();
  port->capture_default_str();
  dir->excludes(host)->excludes(port);
  command->add_option("--password", endpoint->password, "password of the server")
      ->envname("TALLYSTICK_PASSWORD");
}

int Main(int argc, char** argv) {
  CLI::App app{"works on facts and counts, in a server or in a data directory", "tallystick"};
  app.set_version_flag("--version", "tallystick " TALLYSTICK_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);

  ReplayFlags replay_flags;
  CLI::App* replay = app.add_subcommand("replay", "send a file of interactions");
  replay->footer(
      "FILE is CSV, plain or gzip, with the header ts,metric,etype,eid,uid,op; op 1 sets the fact, "
      "0\n"
      "clears it. The table at the end is what the server or directory says afterwards. Replaying "
      "a\n"
      "file again from its start is always safe.");
  replay->add_option("FILE", replay_flags.file, "file of interactions")->required();
  AddEndpoint(replay, &replay_flags.endpoint);
  replay->add_option("--config", replay_flags.config,
                     "configuration file of the server; its [schema] is used");
  replay->add_option("--pipeline", replay_flags.batch_rows, "rows in flight")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, kBatchRowsMax));
  replay->add_flag("--json", replay_flags.json, "print the report as JSON");

  VerifyFlags verify_flags;
  CLI::App* verify = app.add_subcommand("verify", "recount every fact and compare with the counts");
  verify->footer(
      "With --dir the stored records, facts and counter parts are compared as they lie on disk; "
      "no\n"
      "server may have the directory open. With --host or --port the server is asked about every\n"
      "entity that it lists.");
  AddEndpoint(verify, &verify_flags.endpoint);
  verify->add_flag("--json", verify_flags.json, "print the report as JSON");

  DumpFlags dump_flags;
  CLI::App* dump = app.add_subcommand("dump", "print all that is known of one entity");
  dump->add_option("ENTITY", dump_flags.entity, "etype:eid, as article:42")->required();
  AddEndpoint(dump, &dump_flags.endpoint);
  dump->add_option("--members", dump_flags.members, "members to print of each fact set")
      ->capture_default_str()
      ->check(CLI::Range(size_t{0}, kDumpMembersMax));

  std::string help_topic;
  CLI::App* help = app.add_subcommand("help", "explain a command");
  help->add_option("COMMAND", help_topic, "which; without it, all are listed")
      ->check(CLI::IsMember({"replay", "verify", "dump", "help"}));

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  if (replay->parsed()) return static_cast<int>(RunReplay(replay_flags));
  if (verify->parsed()) return static_cast<int>(RunVerify(verify_flags));
  if (dump->parsed()) return static_cast<int>(RunDump(dump_flags));
  // App::help() of the whole would explain the subcommand that was given: help itself.
  const CLI::App* topic = help_topic.empty() ? &app : app.get_subcommand(help_topic);
  const std::string name = topic == &app ? app.get_name() : app.get_name() + " " + help_topic;
  std::cout << app.get_formatter()->make_help(topic, name, CLI::AppFormatMode::Normal);
  return 0;
}

}  // namespace
}  // namespace tallystick

int main(int argc, char** argv) {
  return tallystick::Main(argc, argv);
}
