#include "engine/facts/popcount.h"

#include <initializer_list>

#include "engine/base/assert.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define TALLY_TARGET(features) __attribute__((target(features)))
#endif

namespace tallystick {
namespace {

using PopcountFunction = uint64_t (*)(const uint64_t*, size_t);

// Adds up neighbouring fields of 1, 2 and 4 bits; the multiplication sums the eight bytes.
uint64_t PopcountScalar(const uint64_t* words, size_t count) {
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t x = words[i];
    x -= (x >> 1) & 0x5555555555555555;
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
    total += (x * 0x0101010101010101) >> 56;
  }
  return total;
}

#if defined(__x86_64__)

TALLY_TARGET("popcnt")
uint64_t PopcountPopcnt(const uint64_t* words, size_t count) {
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    total += static_cast<uint64_t>(__builtin_popcountll(words[i]));
  }
  return total;
}

// Looks up each nibble's count with a byte shuffle (W. Mula's method) and sums bytes into four
// lanes.
TALLY_TARGET("avx2,popcnt")
uint64_t PopcountAvx2(const uint64_t* words, size_t count) {
  const __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1,
                                          2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i low_nibbles = _mm256_set1_epi8(0x0f);
  const __m256i zero = _mm256_setzero_si256();
  __m256i lanes = zero;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i));
    const __m256i low = _mm256_and_si256(v, low_nibbles);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), low_nibbles);
    const __m256i bytes =
        _mm256_add_epi8(_mm256_shuffle_epi8(counts, low), _mm256_shuffle_epi8(counts, high));
    lanes = _mm256_add_epi64(lanes, _mm256_sad_epu8(bytes, zero));
  }
  uint64_t sums[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums), lanes);
  return sums[0] + sums[1] + sums[2] + sums[3] + PopcountPopcnt(words + i, count - i);
}

TALLY_TARGET("avx512f,avx512vpopcntdq,popcnt")
uint64_t PopcountAvx512(const uint64_t* words, size_t count) {
  __m512i lanes = _mm512_setzero_si512();
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    lanes = _mm512_add_epi64(lanes, _mm512_popcnt_epi64(_mm512_loadu_si512(words + i)));
  }
  uint64_t sums[8];
  _mm512_storeu_si512(sums, lanes);
  uint64_t total = PopcountPopcnt(words + i, count - i);
  for (const uint64_t sum : sums) total += sum;
  return total;
}

#endif

PopcountFunction FunctionOf(PopcountKind kind) {
  switch (kind) {
#if defined(__x86_64__)
    case PopcountKind::kPopcnt:
      return &PopcountPopcnt;
    case PopcountKind::kAvx2:
      return &PopcountAvx2;
    case PopcountKind::kAvx512:
      return &PopcountAvx512;
#else
    case PopcountKind::kPopcnt:
    case PopcountKind::kAvx2:
    case PopcountKind::kAvx512:
      break;
#endif
    case PopcountKind::kScalar:
      break;
  }
  return &PopcountScalar;
}

PopcountFunction Best() {
  for (const PopcountKind kind :
       {PopcountKind::kAvx512, PopcountKind::kAvx2, PopcountKind::kPopcnt}) {
    if (PopcountSupported(kind)) return FunctionOf(kind);
  }
  return &PopcountScalar;
}

}  // namespace

bool PopcountSupported(PopcountKind kind) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool popcnt = __builtin_cpu_supports("popcnt") != 0;
  switch (kind) {
    case PopcountKind::kScalar:
      return true;
    case PopcountKind::kPopcnt:
      return popcnt;
    case PopcountKind::kAvx2:
      return popcnt && __builtin_cpu_supports("avx2") != 0;
    case PopcountKind::kAvx512:
      return popcnt && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512vpopcntdq") != 0;
  }
  return false;
#else
  return kind == PopcountKind::kScalar;
#endif
}

uint64_t PopcountWith(PopcountKind kind, const uint64_t* words, size_t count) {
  TALLY_ASSERT(PopcountSupported(kind));
  return FunctionOf(kind)(words, count);
}

uint64_t Popcount(const uint64_t* words, size_t count) {
  static const PopcountFunction best = Best();
  return best(words, count);
}

}  // namespace tallystick
