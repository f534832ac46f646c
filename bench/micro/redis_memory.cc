#include "bench/micro/redis_memory.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace tallystick {
namespace {

constexpr uint64_t kBatch = 1000;
constexpr uint64_t kLookEvery = 50'000;

void Require(bool condition) {
  if (!condition) std::abort();
}

sockaddr_in Local(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

uint16_t FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Local(0);
  socklen_t size = sizeof(address);
  Require(bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0);
  Require(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(probe);
  return ntohs(address.sin_port);
}

void AppendCommand(std::string* out, std::initializer_list<std::string> words) {
  out->append("*").append(std::to_string(words.size())).append("\r\n");
  for (const std::string& word : words) {
    out->append("$").append(std::to_string(word.size())).append("\r\n");
    out->append(word).append("\r\n");
  }
}

int64_t NowSeconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

}  // namespace

bool RedisMemory::Present() {
  return std::system("command -v redis-server >/dev/null 2>&1") == 0;
}

RedisMemory::RedisMemory(As as) : as_(as) {
  const uint16_t port = FreePort();
  const std::string port_text = std::to_string(port);
  server_ = fork();
  if (server_ == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    execlp("redis-server", "redis-server", "--port", port_text.c_str(), "--bind", "127.0.0.1",
           "--save", "", "--appendonly", "no", static_cast<char*>(nullptr));
    _exit(127);
  }
  const sockaddr_in address = Local(port);
  for (int attempt = 0; attempt < 200; ++attempt) {
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) break;
    close(socket_);
    socket_ = -1;
    usleep(20'000);
  }
  Require(socket_ >= 0);
  used_at_first_ = ReadUsed();
  started_s_ = NowSeconds();
}

RedisMemory::~RedisMemory() {
  close(socket_);
  kill(server_, SIGKILL);
  waitpid(server_, nullptr, 0);
}

std::string RedisMemory::ReadLine() {
  for (;;) {
    const size_t end = in_.find("\r\n", in_at_);
    if (end != std::string::npos) {
      std::string line = in_.substr(in_at_, end - in_at_);
      in_at_ = end + 2;
      return line;
    }
    in_.erase(0, in_at_);
    in_at_ = 0;
    char buffer[1 << 16];
    const ssize_t n = read(socket_, buffer, sizeof(buffer));
    Require(n > 0);
    in_.append(buffer, static_cast<size_t>(n));
  }
}

void RedisMemory::Send() {
  for (size_t at = 0; at < out_.size();) {
    const ssize_t n = write(socket_, out_.data() + at, out_.size() - at);
    Require(n > 0);
    at += static_cast<size_t>(n);
  }
  out_.clear();
  const char* fresh = as_ == As::kSets ? ":1" : ":0";  // SADD: added; SETBIT: the old bit
  for (; pending_ > 0; --pending_) facts_ += ReadLine() == fresh ? 1u : 0u;
}

uint64_t RedisMemory::ReadUsed() {
  Send();
  AppendCommand(&out_, {"INFO", "memory"});
  Send();
  const std::string head = ReadLine();
  Require(head.starts_with("$"));
  uint64_t used = 0;
  size_t left = std::stoull(head.substr(1));
  while (left > 0) {
    const std::string line = ReadLine();
    left -= line.size() + 2;
    if (line.starts_with("used_memory:")) used = std::stoull(line.substr(12));
  }
  Require(ReadLine().empty());
  return used;
}

void RedisMemory::Add(uint64_t entity, uint64_t uid) {
  if (full_) return;
  if (as_ == As::kSets) {
    AppendCommand(&out_, {"SADD", "like:" + std::to_string(entity), std::to_string(uid)});
  } else {
    AppendCommand(&out_,
                  {"SETBIT", "bm:" + std::to_string(entity) + ":" + std::to_string(uid >> 15),
                   std::to_string(uid & 32767), "1"});
  }
  ++pending_;
  if (++sent_ % kBatch == 0) Send();
  if (sent_ % kLookEvery == 0) {
    full_ = ReadUsed() - used_at_first_ > kUsedBytesMax || NowSeconds() - started_s_ > kSecondsMax;
  }
}

uint64_t RedisMemory::UsedBytes() {
  return ReadUsed() - used_at_first_;
}

}  // namespace tallystick
