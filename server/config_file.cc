// The configuration file: `name = value` lines, comments, a [schema] and an [ids] section.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "server/server_options.h"

namespace tallystick::server {

namespace {

constexpr size_t kConfigBytesMax = 1u << 20;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// "name = value" with optional quotes around the value.
bool SplitLine(std::string_view line, std::string_view* name, std::string_view* value) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  *name = Trim(line.substr(0, equals));
  *value = Trim(line.substr(equals + 1));
  if (value->size() >= 2 && value->front() == '"' && value->back() == '"') {
    *value = value->substr(1, value->size() - 2);
  }
  return !name->empty();
}

Status ApplyLine(std::string_view line, std::string_view section, ServerOptions* options) {
  std::string_view name;
  std::string_view value;
  if (!SplitLine(line, &name, &value)) {
    return Status::Error(StatusCode::kInvalidArgument, "expected `name = value`");
  }
  if (section == "schema") {
    Result<EntityTypeSpec> type = ParseEntityType(name, value);
    if (!type) return type.error();
    for (const EntityTypeSpec& known : options->schema.types) {
      if (known.etype == name) {
        return Status::Error(StatusCode::kInvalidArgument,
                             "entity type '" + std::string(name) + "' is declared twice");
      }
    }
    options->schema.types.push_back(std::move(*type));
    return {};
  }
  if (section == "ids") {
    for (const IdNamespaceSpec& known : options->ids) {
      if (known.etype == name) {
        return Status::Error(StatusCode::kInvalidArgument,
                             "entity type '" + std::string(name) + "' has two namespaces of ids");
      }
    }
    options->ids.push_back({std::string(name), std::string(value)});
    return {};
  }
  const Parameter* parameter = FindParameter(name);
  if (parameter == nullptr || parameter->name == "config") {
    return Status::Error(StatusCode::kInvalidArgument,
                         "unknown setting '" + std::string(name) + "'");
  }
  return SetParameter(*parameter, value, options);
}

}  // namespace

Status ParseConfigText(std::string_view text, const std::string& path, ServerOptions* options) {
  std::string section;
  size_t number = 0;
  options->schema.types.clear();
  options->ids.clear();
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    Status status;
    if (line.front() == '[') {
      section = line.back() == ']' ? std::string(Trim(line.substr(1, line.size() - 2))) : "";
      if (section != "schema" && section != "server" && section != "ids") {
        status = Status::Error(StatusCode::kInvalidArgument,
                               "unknown section; there are [server], [schema] and [ids]");
      }
    } else {
      status = ApplyLine(line, section, options);
    }
    if (!status.ok()) {
      return Status::Error(StatusCode::kInvalidArgument, path + ":" + std::to_string(number) +
                                                             ": " + std::string(status.message()));
    }
  }
  return {};
}

Status LoadConfigFile(const std::string& path, ServerOptions* options) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Status::Error(StatusCode::kInvalidArgument,
                         "cannot read configuration file " + path + ": " + std::strerror(errno));
  }
  std::string text(kConfigBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad() || text.size() > kConfigBytesMax) {
    return Status::Error(StatusCode::kInvalidArgument,
                         "configuration file " + path + " is unreadable or longer than 1 MiB");
  }
  return ParseConfigText(text, path, options);
}

}  // namespace tallystick::server
