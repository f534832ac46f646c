#include "tools/cli/schema_config.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

namespace tallystick {
namespace {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string_view Unquote(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// One `etype = slots` line.
Status AddType(std::string_view line, SchemaSpec* schema) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    return Status::Error(StatusCode::kInvalidArgument, "expected `etype = slots`");
  }
  const std::string_view etype = Trim(line.substr(0, equals));
  Result<EntityTypeSpec> type = ParseEntityType(etype, Unquote(Trim(line.substr(equals + 1))));
  if (!type) return std::move(type.error());
  const auto same = [&](const EntityTypeSpec& known) { return known.etype == type->etype; };
  if (std::any_of(schema->types.begin(), schema->types.end(), same)) {
    return Status::Error(StatusCode::kInvalidArgument,
                         "entity type " + type->etype + " is declared twice");
  }
  schema->types.push_back(std::move(*type));
  return {};
}

}  // namespace

Result<SchemaSpec> ParseSchemaConfig(std::string_view text) {
  SchemaSpec schema;
  bool in_schema = false;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      in_schema = line.back() == ']' && Trim(line.substr(1, line.size() - 2)) == "schema";
      continue;
    }
    if (!in_schema) continue;
    if (Status status = AddType(line, &schema); !status.ok()) {
      return Fail(StatusCode::kInvalidArgument,
                  "line " + std::to_string(number) + ": " + std::string(status.message()));
    }
  }
  return schema;
}

Result<SchemaSpec> ReadSchemaConfig(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) {
    const int error = errno != 0 ? errno : EIO;
    return Fail(StatusCode::kIoError,
                "cannot read " + path + ": " + std::generic_category().message(error));
  }
  Result<SchemaSpec> schema = ParseSchemaConfig(text);
  if (!schema)
    return Fail(schema.error().code(), path + ": " + std::string(schema.error().message()));
  return schema;
}

}  // namespace tallystick
