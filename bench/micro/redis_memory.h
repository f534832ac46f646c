// Facts in a redis-server of its own, started on a free port: as a Set for each entity, or as the
// bitmap strings of 32K bits that applications use in place of one huge string. What it takes is
// its used_memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tallystick {

class RedisMemory {
 public:
  enum class As { kSets, kChunks };
  // Where a row would take more than this, what was stored by then is measured.
  static constexpr uint64_t kUsedBytesMax = uint64_t{2} << 30;
  static constexpr int kSecondsMax = 60;

  static bool Present();  // there is a redis-server to start

  explicit RedisMemory(As as);
  ~RedisMemory();  // ends the server, by its own pid
  RedisMemory(const RedisMemory&) = delete;
  RedisMemory& operator=(const RedisMemory&) = delete;

  void Add(uint64_t entity, uint64_t uid);
  // After the last Add: bytes beyond those of the empty server.
  uint64_t UsedBytes();
  uint64_t facts() const { return facts_; }  // different ones that are stored
  bool cut() const { return full_; }         // a limit was reached

 private:
  void Send();
  uint64_t ReadUsed();
  std::string ReadLine();

  const As as_;
  pid_t server_ = -1;
  int socket_ = -1;
  std::string out_, in_;
  size_t in_at_ = 0;
  uint64_t pending_ = 0;
  uint64_t sent_ = 0;
  uint64_t facts_ = 0;
  uint64_t used_at_first_ = 0;
  int64_t started_s_ = 0;
  bool full_ = false;
};

}  // namespace tallystick
