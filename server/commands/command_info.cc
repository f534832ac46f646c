// COMMAND and its subcommands: the command table, told to clients and printed as docs/commands.md.
#include <algorithm>
#include <utility>

#include "server/commands/command_table.h"
#include "server/commands/handlers.h"
#include "server/error_reply.h"
#include "server/glob.h"
#include "server/resp/number.h"

namespace tallystick::server {

namespace {

struct FlagName {
  uint32_t flag;
  std::string_view name;
};
constexpr FlagName kFlagNames[] = {
    {kWrite, "write"},
    {kReadonly, "readonly"},
    {kDenyOom, "denyoom"},
    {kAdmin, "admin"},
    {kNoScript, "noscript"},
    {kBlocking, "blocking"},
    {kLoadingOk, "loading"},
    {kStale, "stale"},
    {kFast, "fast"},
    {kNoAuth, "no_auth"},
    {kMovableKeys, "movablekeys"},
};

constexpr std::string_view GroupName(Group group) {
  switch (group) {
    case Group::kConnection:
      return "connection";
    case Group::kServer:
      return "server";
    case Group::kGeneric:
      return "generic";
    case Group::kString:
      return "string";
    case Group::kBitmap:
      return "bitmap";
    case Group::kSet:
      return "set";
    case Group::kFact:
      return "fact";
    case Group::kCount:
      return "count";
  }
  return "";
}

std::vector<std::string_view> FlagNames(const CommandSpec& spec) {
  std::vector<std::string_view> names;
  for (const FlagName& flag : kFlagNames) {
    if ((spec.flags & flag.flag) != 0) names.push_back(flag.name);
  }
  return names;
}

// The ACL categories that follow from flags and group.
std::vector<std::string_view> Categories(const CommandSpec& spec) {
  std::vector<std::string_view> names;
  if ((spec.flags & kWrite) != 0) names.push_back("@write");
  if ((spec.flags & kReadonly) != 0 && spec.group != Group::kServer) names.push_back("@read");
  switch (spec.group) {
    case Group::kConnection:
      names.push_back("@connection");
      break;
    case Group::kGeneric:
      names.push_back("@keyspace");
      break;
    case Group::kString:
      names.push_back("@string");
      break;
    case Group::kBitmap:
      names.push_back("@bitmap");
      break;
    case Group::kSet:
      names.push_back("@set");
      break;
    case Group::kFact:
      names.push_back("@fact");
      break;
    case Group::kCount:
      names.push_back("@count");
      break;
    case Group::kServer:
      break;
  }
  if ((spec.flags & kAdmin) != 0) {
    names.push_back("@admin");
    names.push_back("@dangerous");
  }
  names.push_back((spec.flags & kFast) != 0 ? "@fast" : "@slow");
  return names;
}

struct KeyUse {
  std::string_view access;  // Redis's words: RO, RW, OW
  std::string_view purpose;
};

// One key specification: where the keys begin, and how the others are found from there.
void WriteKeySpec(ReplyWriter* out, KeyUse use, int index, std::string_view find,
                  std::span<const std::pair<std::string_view, int>> how) {
  out->Map(3);
  out->Bulk("flags");
  out->Set(2);
  out->Simple(use.access);
  out->Simple(use.purpose);
  out->Bulk("begin_search");
  out->Map(2);
  out->Bulk("type");
  out->Bulk("index");
  out->Bulk("spec");
  out->Map(1);
  out->Bulk("index");
  out->Integer(index);
  out->Bulk("find_keys");
  out->Map(2);
  out->Bulk("type");
  out->Bulk(find);
  out->Bulk("spec");
  out->Map(how.size());
  for (const auto& [name, value] : how) {
    out->Bulk(name);
    out->Integer(value);
  }
}

void WriteKeyRange(ReplyWriter* out, KeyUse use, int first, int last, int step) {
  const std::pair<std::string_view, int> how[] = {
      {"lastkey", last < 0 ? last : last - first}, {"keystep", step}, {"limit", 0}};
  WriteKeySpec(out, use, first, "range", how);
}

void WriteKeySpecs(ReplyWriter* out, const CommandSpec& spec) {
  constexpr KeyUse kRead{"RO", "access"};
  if ((spec.flags & kMovableKeys) != 0) {
    constexpr std::pair<std::string_view, int> kHow[] = {
        {"keynumidx", 0}, {"firstkey", 1}, {"keystep", 1}};
    out->Set(1);
    WriteKeySpec(out, kRead, 1, "keynum", kHow);
  } else if (spec.first_key == 0) {
    out->Set(0);
  } else if ((spec.flags & kTargetFirst) != 0) {
    out->Set(2);
    WriteKeyRange(out, {"OW", "update"}, spec.first_key, spec.first_key, 1);
    WriteKeyRange(out, kRead, spec.first_key + 1, spec.last_key, spec.key_step);
  } else {
    out->Set(1);
    WriteKeyRange(out, (spec.flags & kWrite) != 0 ? KeyUse{"RW", "update"} : kRead, spec.first_key,
                  spec.last_key, spec.key_step);
  }
}

bool IsSubcommandOf(const CommandSpec& spec, const CommandSpec& container) {
  return spec.name.size() > container.name.size() && spec.name.starts_with(container.name) &&
         spec.name[container.name.size()] == '|';
}

std::vector<const CommandSpec*> SubcommandsOf(const CommandSpec& container) {
  std::vector<const CommandSpec*> found;
  for (const CommandSpec& spec : Commands()) {
    if (IsSubcommandOf(spec, container)) found.push_back(&spec);
  }
  return found;
}

// HTTP request lines are in the table only to be refused.
bool IsShown(const CommandSpec& spec) {
  return spec.handler != HttpRequest;
}

std::vector<const CommandSpec*> TopLevel() {
  std::vector<const CommandSpec*> found;
  for (const CommandSpec& spec : Commands()) {
    if (!IsSubcommand(spec) && IsShown(spec)) found.push_back(&spec);
  }
  return found;
}

void WriteInfo(ReplyWriter* out, const CommandSpec& spec) {
  out->Array(10);
  out->Bulk(spec.name);
  out->Integer(spec.arity);
  const auto flags = FlagNames(spec);
  out->Set(flags.size());
  for (std::string_view flag : flags) out->Simple(flag);
  out->Integer(spec.first_key);
  out->Integer(spec.last_key);
  out->Integer(spec.key_step);
  const auto categories = Categories(spec);
  out->Set(categories.size());
  for (std::string_view category : categories) out->Simple(category);
  out->Set(0);  // tips
  WriteKeySpecs(out, spec);
  const auto subcommands =
      IsSubcommand(spec) ? std::vector<const CommandSpec*>{} : SubcommandsOf(spec);
  out->Set(subcommands.size());
  for (const CommandSpec* subcommand : subcommands) WriteInfo(out, *subcommand);
}

void WriteDocs(ReplyWriter* out, const CommandSpec& spec) {
  const auto subcommands =
      IsSubcommand(spec) ? std::vector<const CommandSpec*>{} : SubcommandsOf(spec);
  out->Bulk(spec.name);
  out->Map(subcommands.empty() ? 4 : 5);
  out->Bulk("summary");
  out->Bulk(spec.summary);
  out->Bulk("since");
  out->Bulk(spec.since);
  out->Bulk("group");
  out->Bulk(GroupName(spec.group));
  out->Bulk("complexity");
  out->Bulk(spec.complexity);
  if (subcommands.empty()) return;
  out->Bulk("subcommands");
  out->Map(subcommands.size());
  for (const CommandSpec* subcommand : subcommands) WriteDocs(out, *subcommand);
}

std::string UpperCase(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char ch) { return ch >= 'a' && ch <= 'z' ? static_cast<char>(ch - 32) : ch; });
  return upper;
}

const CommandSpec* FindShown(std::string_view name) {
  const CommandSpec* spec = FindCommandByName(name);
  return spec != nullptr && IsShown(*spec) ? spec : nullptr;
}

}  // namespace

Flow Command(CommandContext& c) {
  const auto specs = TopLevel();
  c.reply().Array(specs.size());
  for (const CommandSpec* spec : specs) WriteInfo(&c.writer, *spec);
  return Flow::kNext;
}

Flow CommandCount(CommandContext& c) {
  c.reply().Unsigned(TopLevel().size());
  return Flow::kNext;
}

Flow CommandInfo(CommandContext& c) {
  if (c.argc() == 2) return Command(c);
  c.reply().Array(c.argc() - 2);
  for (std::string_view name : c.args.subspan(2)) {
    const CommandSpec* spec = FindShown(name);
    if (spec == nullptr) {
      c.writer.Null();
    } else {
      WriteInfo(&c.writer, *spec);
    }
  }
  return Flow::kNext;
}

Flow CommandDocs(CommandContext& c) {
  std::vector<const CommandSpec*> specs;
  if (c.argc() == 2) {
    specs = TopLevel();
  } else {
    for (std::string_view name : c.args.subspan(2)) {
      if (const CommandSpec* spec = FindShown(name)) specs.push_back(spec);
    }
  }
  c.reply().Map(specs.size());
  for (const CommandSpec* spec : specs) WriteDocs(&c.writer, *spec);
  return Flow::kNext;
}

Flow CommandList(CommandContext& c) {
  const bool filtered = c.argc() > 2;
  if (filtered && (c.argc() != 5 || !c.Is(2, "FILTERBY") ||
                   !(c.Is(3, "MODULE") || c.Is(3, "ACLCAT") || c.Is(3, "PATTERN")))) {
    return c.Error(error::kSyntax);
  }
  if (filtered && c.args[4].size() > kPatternBytesMax) return c.Error(error::kPatternTooLong);
  std::vector<std::string_view> names;
  for (const CommandSpec& spec : Commands()) {
    if (!IsShown(spec)) continue;
    bool wanted = true;
    if (filtered && c.Is(3, "MODULE")) {
      wanted = false;  // there are no modules
    } else if (filtered && c.Is(3, "PATTERN")) {
      wanted = GlobMatch(c.args[4], spec.name, true);
    } else if (filtered) {
      const auto categories = Categories(spec);
      wanted = std::any_of(categories.begin(), categories.end(), [&c](std::string_view category) {
        return EqualsIgnoreCase(category.substr(1), c.args[4]);
      });
    }
    if (wanted && (filtered || !IsSubcommand(spec))) names.push_back(spec.name);
  }
  c.reply().Array(names.size());
  for (std::string_view name : names) c.writer.Bulk(name);
  return Flow::kNext;
}

Flow CommandGetKeys(CommandContext& c) {
  const auto request = c.args.subspan(2);
  const CommandSpec* spec = FindCommand(request).spec;
  if (spec == nullptr) return c.Error(error::kInvalidCommand);
  const bool counted = (spec->flags & kMovableKeys) != 0;
  if (spec->first_key == 0 && !counted) return c.Error("ERR The command has no key arguments");
  if (!ArityFits(*spec, request.size())) {
    return c.Error("ERR Invalid number of arguments specified for command");
  }
  const int count = static_cast<int>(request.size());
  std::vector<std::string_view> keys;
  if (counted) {
    const std::optional<uint64_t> number = ParseUint64(request[1]);
    if (!number || *number == 0 || *number > request.size() - 2)
      return c.Error("ERR Invalid arguments specified for command");
    const auto named = request.subspan(2, *number);
    keys.assign(named.begin(), named.end());
  }
  const int last = counted ? 0 : spec->last_key < 0 ? count + spec->last_key : spec->last_key;
  for (int i = spec->first_key; !counted && i <= last && i < count; i += spec->key_step) {
    keys.push_back(request[static_cast<size_t>(i)]);
  }
  c.reply().Array(keys.size());
  for (std::string_view key : keys) c.writer.Bulk(key);
  return Flow::kNext;
}

Flow SubcommandHelp(CommandContext& c) {
  const std::string_view name = c.spec.name.substr(0, c.spec.name.find('|'));
  const auto subcommands = SubcommandsOf(*FindCommandByName(name));
  c.reply().Array(1 + 2 * subcommands.size());
  c.writer.Simple(UpperCase(name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
  for (const CommandSpec* spec : subcommands) {
    std::string call = UpperCase(spec->name.substr(name.size() + 1));
    if (!spec->usage.empty()) call.append(" ").append(spec->usage);
    c.writer.Simple(call);
    c.writer.Simple("    " + std::string(spec->summary));
  }
  return Flow::kNext;
}

std::string CommandReference() {
  std::string text =
      "# Commands\n\n"
      "Printed from the command table by `tallystick-server --dump-commands`; a test compares. "
      "What\n"
      "differs from Redis is in [differences.md](differences.md).\n";
  constexpr Group kGroups[] = {Group::kFact,   Group::kCount,   Group::kBitmap,     Group::kSet,
                               Group::kString, Group::kGeneric, Group::kConnection, Group::kServer};
  for (Group group : kGroups) {
    text.append("\n## ").append(GroupName(group)).append("\n\n");
    text.append("| command | what it does | complexity | flags |\n| --- | --- | --- | --- |\n");
    for (const CommandSpec& spec : Commands()) {
      if (spec.group != group || spec.handler == nullptr || !IsShown(spec)) continue;
      std::string call = UpperCase(spec.name);
      std::replace(call.begin(), call.end(), '|', ' ');
      if (!spec.usage.empty()) call.append(" ").append(spec.usage);
      for (size_t at = call.find('|'); at != std::string::npos; at = call.find('|', at + 2)) {
        call.insert(at, 1, '\\');
      }
      text.append("| `").append(call).append("` | ").append(spec.summary).append(" | ");
      text.append(spec.complexity).append(" |");
      for (std::string_view flag : FlagNames(spec)) text.append(" ").append(flag);
      text.append(" |\n");
    }
  }
  return text;
}

}  // namespace tallystick::server
