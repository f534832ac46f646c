// Records of the ids column family: what an id dictionary keeps. Layout in docs/formats/ids.md.
//
// Pure and thread-safe. Parsers take any bytes; their views point into what they are given.
#pragma once

#include <tallystick/options.h>
#include <tallystick/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

inline constexpr uint8_t kIdRecordVersion = 1;
inline constexpr uint32_t kIdStripes = 16;  // fixed: it is in every ordinal
inline constexpr std::string_view kIdNamespacesKey = "id-namespaces";  // in meta

// Which entity types use which namespace, ascending by type.
std::string EncodeIdNamespaces(const std::vector<IdNamespaceSpec>& specs);
Result<std::vector<IdNamespaceSpec>> DecodeIdNamespaces(std::string_view value);

// A namespace since it was last emptied: how often it was, and each stripe's first number.
struct IdGeneration {
  uint32_t generation = 0;
  uint32_t begins[kIdStripes] = {};
};
std::string IdGenerationKey(std::string_view name);
std::string EncodeIdGeneration(std::string_view name, const IdGeneration& generation);
Result<IdGeneration> DecodeIdGeneration(std::string_view name, std::string_view value);

// From number to id. Keys of a stripe sort by number.
std::string IdNumberKey(std::string_view name, uint32_t stripe, uint32_t number);
bool ParseIdNumberKey(std::string_view key, std::string_view* name, uint32_t* stripe,
                      uint32_t* number);
std::string EncodeIdNumber(std::string_view key, std::string_view packed);
// kCorruption unless the value is one packed id.
Status DecodeIdNumber(std::string_view key, std::string_view value, std::string_view* packed);

// From id to number, within its stripe.
std::string IdKey(std::string_view name, uint32_t generation, std::string_view packed);
std::string IdKeyPrefix(std::string_view name, uint32_t generation);  // of all of a generation
std::string EncodeIdKey(std::string_view key, uint32_t number);
Status DecodeIdKey(std::string_view key, std::string_view value, uint32_t* number);

}  // namespace tallystick
