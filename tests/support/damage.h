// Damages a record in every small way: no decoder may accept any of it.
#pragma once

#include "engine/base/checksum.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tallystick::testing {

// `accepts(bytes)` says whether the decoder took them. Every truncation, every flipped bit, a
// trailing byte. The copies live in blocks of exactly their size, so that a sanitizer sees
// over-reads.
template <typename Accepts>
void ExpectEveryDamageRefused(std::string_view record, Accepts accepts) {
  const auto exact = [&accepts](std::string_view bytes) {
    const std::string copy(bytes);
    return accepts(std::string_view(copy));
  };
  ASSERT_TRUE(exact(record));
  for (size_t length = 0; length < record.size(); ++length) {
    EXPECT_FALSE(exact(record.substr(0, length))) << "truncated to " << length;
  }
  std::string damaged(record);
  for (size_t bit = 0; bit < 8 * record.size(); ++bit) {
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(exact(damaged)) << "flipped bit " << bit;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
  }
  EXPECT_FALSE(exact(std::string(record) + '\0')) << "a trailing byte";
}

// The same behind a right checksum: `accepts(bytes)` gets sealed records, so that the decoder's own
// checks are met. A changed body may be another valid record; it only must not do harm, and no
// truncation may be accepted unless `prefix_may_be_valid`.
template <typename Accepts>
void ExpectNoHarmBehindChecksum(std::string_view key, std::string_view record, Accepts accepts) {
  const std::string body(record.substr(0, record.size() - 8));
  const auto sealed = [&](std::string changed) {
    SealRecord(key, &changed);
    return accepts(std::string_view(changed));
  };
  for (size_t length = 0; length < body.size(); ++length) {
    EXPECT_FALSE(sealed(body.substr(0, length))) << "truncated to " << length;
  }
  EXPECT_FALSE(sealed(body + '\0')) << "a trailing byte";
  for (size_t i = 0; i < body.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = body;
      changed[i] = static_cast<char>(value);
      static_cast<void>(sealed(std::move(changed)));
    }
  }
}

}  // namespace tallystick::testing
