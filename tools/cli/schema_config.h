// The section [schema] of a configuration file of tallystick-server:
//
//   [schema]
//   comment = like:facts view:facts
//   * = like:facts fav:facts comment:facts+counter
//
// The other settings in the file are the server's own and are skipped here.
#pragma once

#include <tallystick/counts.h>
#include <tallystick/result.h>

#include <string>
#include <string_view>

namespace tallystick {

// kInvalidArgument names line and cause. No section: a schema without types.
Result<SchemaSpec> ParseSchemaConfig(std::string_view text);
// The same of a file; kIoError when it cannot be read. Messages name the file.
Result<SchemaSpec> ReadSchemaConfig(const std::string& path);

}  // namespace tallystick
