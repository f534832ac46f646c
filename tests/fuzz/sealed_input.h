// The input of a fuzz target for a persisted record: as it is (the checksum refuses nearly all) and
// sealed under a key (so that what lies behind the checksum is reached).
#pragma once

#include "engine/base/checksum.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tallystick::fuzz {

inline constexpr std::string_view kKey = "key";

// Calls check(record) for both. The record lies in a block of exactly its size.
template <typename Check>
void WithRecords(const uint8_t* data, size_t size, Check check) {
  std::string record(size == 0 ? "" : reinterpret_cast<const char*>(data), size);
  check(std::string_view(record));
  SealRecord(kKey, &record);
  const std::string exact(record);
  check(std::string_view(exact));
}

}  // namespace tallystick::fuzz
