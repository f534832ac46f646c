// Proves that every command is found by its name, in any case and nowhere else, and that
// docs/commands.md is what the table prints (tallystick-server --dump-commands).
#include "server/commands/command_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace tallystick::server {
namespace {

TEST(CommandTable, NamesAreFoundInAnyCase) {
  for (const CommandSpec& spec : Commands()) {
    EXPECT_EQ(FindCommandByName(spec.name), &spec);
    EXPECT_FALSE(spec.summary.empty()) << spec.name;
    EXPECT_FALSE(spec.complexity.empty()) << spec.name;
  }
  const std::string_view args[] = {"ClIeNt", "iD"};
  EXPECT_EQ(FindCommand(args).spec->name, "client|id");
  const std::string_view unknown[] = {"client", ""};
  EXPECT_EQ(FindCommand(unknown).spec, nullptr);
  EXPECT_NE(FindCommand(unknown).container, nullptr);
  const std::string_view joined[] = {"client|id"};
  EXPECT_EQ(FindCommand(joined).spec, nullptr);
  EXPECT_EQ(FindCommand(joined).container, nullptr);
}

TEST(CommandTable, TheReferenceIsUpToDate) {
  const char* const root = std::getenv("TALLYSTICK_SOURCE_ROOT");
  ASSERT_NE(root, nullptr);
  std::ifstream file(std::string(root) + "/docs/commands.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), CommandReference())
      << "run: build/server/tallystick-server --dump-commands > docs/commands.md";
}

}  // namespace
}  // namespace tallystick::server
