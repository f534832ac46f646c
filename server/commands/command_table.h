// The one table of commands. COMMAND, the dispatcher and docs/commands.md are all printed from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/commands/command.h"

namespace tallystick::server {

// All commands and subcommands, sorted by name.
std::span<const CommandSpec> Commands();

// The command of a request: by name without case, and for a container by its subcommand as well.
struct CommandMatch {
  const CommandSpec* spec = nullptr;       // what to run; null when unknown
  const CommandSpec* container = nullptr;  // the container whose subcommand is unknown or missing
};
CommandMatch FindCommand(std::span<const std::string_view> args);
// Exactly this name ("config|get"), without case.
const CommandSpec* FindCommandByName(std::string_view name);

bool IsContainer(const CommandSpec& spec);
bool IsSubcommand(const CommandSpec& spec);
// Whether the number of arguments (the name included) fits.
bool ArityFits(const CommandSpec& spec, size_t argc);

// docs/commands.md.
std::string CommandReference();

}  // namespace tallystick::server
