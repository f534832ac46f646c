// The command line, by CLI11; kept in one file because that header is slow to compile.
#include <CLI/CLI.hpp>

#include <tallystick/version.h>

#include <optional>
#include <sstream>

#include "server/server_options.h"

namespace tallystick::server {

namespace {

// Adds every parameter to the app; values go through SetParameter into *options.
void AddParameters(CLI::App* app, ServerOptions* options) {
  for (const Parameter& parameter : Parameters()) {
    const std::string name = "--" + std::string(parameter.name);
    std::string help(parameter.help);
    const std::string value = GetParameter(parameter, *options);
    auto store = [&parameter, options](const std::string& text) {
      const Status status = SetParameter(parameter, text, options);
      if (!status.ok()) throw CLI::ValidationError(std::string(status.message()));
    };
    if (parameter.kind == Parameter::Kind::kFlag) {
      app->add_flag_callback(
          name, [store] { store("yes"); }, help);
      continue;
    }
    const std::string limits = LimitsOf(parameter);
    if (!limits.empty()) {
      help += " [" + value + "; " + limits + "]";
    } else if (!value.empty()) {
      help += " [" + value + "]";
    }
    app->add_option_function<std::string>(name, store, help)
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

// Parses argv over *options; nullopt: go on.
std::optional<CommandLine> ParseOnto(int argc, const char* const* argv, ServerOptions* options) {
  CLI::App app{"tallystick-server: facts and counts over the Redis protocol"};
  app.set_version_flag("--version", "tallystick-server " TALLYSTICK_VERSION);
  AddParameters(&app, options);
  bool dump_commands = false;
  app.add_flag("--dump-commands", dump_commands, "print the command reference and exit");
  CommandLine result;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    const int code = app.exit(error, out, out);
    result.action = code == 0 ? CommandLine::Action::kPrint : CommandLine::Action::kFail;
    result.text = out.str();
    return result;
  }
  if (!dump_commands) return std::nullopt;
  result.action = CommandLine::Action::kDumpCommands;
  return result;
}

}  // namespace

CommandLine ParseCommandLine(int argc, const char* const* argv) {
  ServerOptions flags_only;
  if (std::optional<CommandLine> done = ParseOnto(argc, argv, &flags_only)) return *done;
  CommandLine result;
  if (!flags_only.config_file.empty()) {
    const Status status = LoadConfigFile(flags_only.config_file, &result.options);
    if (!status.ok()) {
      result.action = CommandLine::Action::kFail;
      result.text = std::string(status.message()) + "\n";
      return result;
    }
  }
  // Flags win over the file: they are parsed once more, over what the file said.
  if (std::optional<CommandLine> done = ParseOnto(argc, argv, &result.options)) return *done;
  return result;
}

}  // namespace tallystick::server
