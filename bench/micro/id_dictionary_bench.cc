// When an id dictionary pays: what ids cost in it, and what sets of the same users cost with their
// snowflakes and with their ordinals. Growth of resident memory of a fresh process for each figure,
// under jemalloc as the server is; nanoseconds of processor time, in random order.
#include "engine/base/checksum.h"
#include "engine/facts/fact_set.h"
#include "engine/facts/id_index.h"
#include "engine/facts/packed_id.h"
#include "engine/facts/text_set.h"

#include <jemalloc/jemalloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace tallystick {
namespace {

constexpr uint32_t kStripes = 16;
constexpr uint64_t kUsers = 1'000'000;

uint64_t ResidentBytes() {
  const std::string purge_all = "arena." + std::to_string(MALLCTL_ARENAS_ALL) + ".purge";
  if (mallctl(purge_all.c_str(), nullptr, nullptr, nullptr, 0) != 0) std::abort();
  std::ifstream status("/proc/self/status");
  uint64_t kib = 0;
  for (std::string word; status >> word;) {
    if (word == "RssAnon:") status >> kib;
  }
  return kib * 1024;
}

double CpuNs() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// The id of user number `user`; computed, so that a list of them costs nothing.
uint64_t SnowflakeOf(uint64_t user) {
  constexpr uint64_t kHalfYearMs = 15'768'000'000;
  const uint64_t mixed = Hash64({reinterpret_cast<const char*>(&user), sizeof(user)}, 5);
  return (50'000'000'000 + mixed % kHalfYearMs) << 22 | user % 32 << 12 | (mixed >> 60);
}
std::string Snowflake(uint64_t user) {
  return std::to_string(SnowflakeOf(user));
}
std::string Uuid(uint64_t user) {
  const uint64_t high = SnowflakeOf(user), low = SnowflakeOf(user + kUsers);
  char text[40];
  std::snprintf(text, sizeof(text), "%08x-%04x-4%03x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                static_cast<unsigned>(high & 0xfff), static_cast<unsigned>(low >> 48),
                static_cast<unsigned long long>(low & 0xffffffffffff));
  return text;
}
std::string Name(uint64_t user) {
  return "user-" + std::to_string(user * 7919 % 10'000'000);
}

struct Result {
  double bytes_per_id = 0, own_bytes_per_id = 0, give_ns = 0, find_ns = 0, read_ns = 0;
};

template <typename Run>
Result InFreshProcess(Run run) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    const Result result = run();
    _exit(write(ends[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
  }
  close(ends[1]);
  Result result;
  if (read(ends[0], &result, sizeof(result)) != sizeof(result)) std::abort();
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return result;
}

Result Dictionary(std::string (*id_of)(uint64_t)) {
  Result result;
  std::vector<uint32_t> order(kUsers);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(3));
  std::vector<uint32_t> numbers(kUsers);
  const uint64_t before = ResidentBytes();
  auto stripes = std::make_unique<std::vector<IdIndex>>();
  for (uint32_t i = 0; i < kStripes; ++i) stripes->emplace_back(9);
  std::string packed;
  const auto pack = [&](uint64_t user) -> IdIndex& {
    packed.clear();
    PackId(id_of(user), &packed);
    return (*stripes)[Hash64(packed, 11) % kStripes];
  };
  const auto each = [&](auto&& run) {
    const double began = CpuNs();
    for (const uint32_t user : order) run(user);
    return (CpuNs() - began) / kUsers;
  };
  const double making = each([&](uint32_t user) { pack(user); });
  result.give_ns = each([&](uint32_t user) {
                     IdIndex& index = pack(user);
                     if (!index.Find(packed)) numbers[user] = index.Append(packed);
                   }) -
                   making;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(4));
  uint64_t sum = 0;
  result.find_ns = each([&](uint32_t user) {
                     IdIndex& index = pack(user);
                     sum += *index.Find(packed);
                   }) -
                   making;
  std::string id;
  result.read_ns = each([&](uint32_t user) {
    // The stripe follows from the ordinal; here any that has the number serves.
    const IdIndex& index = (*stripes)[user % kStripes];
    const std::string_view found = index.Read(numbers[user] % index.end());
    id.clear();
    if (!UnpackId(found, &id)) std::abort();
    sum += id.size();
  });
  if (sum == 0) std::abort();
  std::vector<uint32_t>().swap(order);
  uint64_t own = 0;
  for (const IdIndex& index : *stripes) own += index.MemoryBytes();
  // `numbers` was touched meanwhile, `order` is gone.
  result.bytes_per_id =
      static_cast<double>(ResidentBytes() + kUsers * sizeof(uint32_t) - before) / kUsers -
      sizeof(uint32_t);
  result.own_bytes_per_id = static_cast<double>(own) / kUsers;
  return result;
}

// Bytes per fact of fact sets alone (16 bytes each, and what they point to).
Result Sets(uint64_t sets, uint64_t members_min, uint64_t members_max, bool by_ordinal) {
  const uint64_t before = ResidentBytes();
  auto all = std::make_unique<std::vector<FactSet>>(sets);
  std::mt19937_64 random(6);
  uint64_t facts = 0;
  for (FactSet& set : *all) {
    for (uint64_t n = members_min + random() % (members_max - members_min + 1); n > 0;) {
      const uint64_t user = random() % kUsers;
      if (!set.Add(by_ordinal ? user : SnowflakeOf(user))) continue;
      --n;
      ++facts;
    }
  }
  Result result;
  result.bytes_per_id = static_cast<double>(ResidentBytes() - before) / static_cast<double>(facts);
  return result;
}

Result Texts(uint64_t sets, uint64_t members, std::string (*id_of)(uint64_t)) {
  const uint64_t before = ResidentBytes();
  auto all = std::make_unique<std::vector<TextSet>>();
  all->reserve(sets);
  std::mt19937_64 random(6);
  for (uint64_t i = 0; i < sets; ++i) {
    TextSet& set = all->emplace_back(1);
    for (uint64_t n = members; n > 0;) {
      if (set.Add(id_of(random() % kUsers))) --n;
    }
  }
  Result result;
  result.bytes_per_id =
      static_cast<double>(ResidentBytes() - before) / static_cast<double>(sets * members);
  for (const TextSet& set : *all) {
    result.own_bytes_per_id +=
        static_cast<double>(set.MemoryBytes()) / static_cast<double>(sets * members);
  }
  const double began = CpuNs();
  uint64_t found = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    found += (*all)[random() % sets].Contains(id_of(random() % kUsers)) ? 1u : 0u;
  }
  result.find_ns = (CpuNs() - began) / 1e6 + (found == 1 ? 1 : 0);
  return result;
}

}  // namespace
}  // namespace tallystick

int main() {
  using namespace tallystick;
  std::printf("| ids (1 M) | bytes | own accounting | give, ns | find, ns | read, ns |\n");
  std::printf("| --- | --- | --- | --- | --- | --- |\n");
  const std::pair<const char*, std::string (*)(uint64_t)> kinds[] = {
      {"snowflakes", Snowflake}, {"UUIDs", Uuid}, {"names (user-1234567)", Name}};
  for (const auto& [name, id_of] : kinds) {
    const Result r = InFreshProcess([id_of = id_of] { return Dictionary(id_of); });
    std::printf("| %s | %.1f | %.1f | %.0f | %.0f | %.0f |\n", name, r.bytes_per_id,
                r.own_bytes_per_id, r.give_ns, r.find_ns, r.read_ns);
    std::fflush(stdout);
  }
  std::printf("\n| sets of 1 M users, bytes per fact | snowflakes | ordinals |\n");
  std::printf("| --- | --- | --- |\n");
  struct Shape {
    const char* name;
    uint64_t sets, least, most;
  };
  for (const Shape& s : {Shape{"500,000 sets of 1 to 10", 500'000, 1, 10},
                         Shape{"50,000 sets of 100", 50'000, 100, 100},
                         Shape{"20 sets of 50,000", 20, 50'000, 50'000}}) {
    const auto sets = [&](bool by_ordinal) {
      return InFreshProcess([&] { return Sets(s.sets, s.least, s.most, by_ordinal); }).bytes_per_id;
    };
    std::printf("| %s | %.2f | %.2f |\n", s.name, sets(false), sets(true));
    std::fflush(stdout);
  }
  std::printf(
      "\n| plain sets of texts | bytes per member | own accounting | contains, ns |\n| --- | --- | "
      "--- | --- |\n");
  for (const auto& [sets, members] :
       {std::pair<uint64_t, uint64_t>{500'000, 1}, {100'000, 10}, {1'000, 1'000}, {1, 500'000}}) {
    const Result r =
        InFreshProcess([&, sets = sets, members = members] { return Texts(sets, members, Name); });
    std::printf("| %llu of %llu names | %.1f | %.1f | %.0f |\n",
                static_cast<unsigned long long>(sets), static_cast<unsigned long long>(members),
                r.bytes_per_id, r.own_bytes_per_id, r.find_ns);
    std::fflush(stdout);
  }
}
