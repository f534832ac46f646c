#include "tests/support/server_process.h"

#include "engine/base/assert.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace tallystick::test {
namespace {

using std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(60);

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port that was free a moment ago.
uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  TALLY_ASSERT(bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0);
  TALLY_ASSERT(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  close(fd);
  return ntohs(address.sin_port);
}

bool Accepts(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  const bool accepted =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return accepted;
}

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

ServerProcess::ServerProcess(const ServerCommand& command) : command_(command) {
  std::filesystem::create_directories(command.directory);
  log_path_ = command.directory + "/server.log";
  port_path_ = command.directory + "/port";
  std::filesystem::remove(port_path_);
  std::vector<std::string> words = {command.binary, "--dir"};
  if (command.kind == ServerCommand::Kind::kRedis) {
    chosen_port_ = FreePort();
    words.insert(words.end(), {command.directory, "--bind", "127.0.0.1", "--port",
                               std::to_string(chosen_port_), "--save", ""});
  } else {
    words.insert(words.end(), {command.directory + "/data", "--bind", "127.0.0.1", "--port", "0",
                               "--port-file", port_path_});
  }
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with("TALLYSTICK_FAULTS=")) continue;
    variables.emplace_back(*variable);
  }
  if (!command.faults.empty()) variables.push_back("TALLYSTICK_FAULTS=" + command.faults);
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);
  const int log = open(log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  TALLY_ASSERT(log >= 0 && null >= 0);

  const pid_t parent = getpid();
  pid_ = fork();
  TALLY_ASSERT(pid_ >= 0);
  if (pid_ == 0) {
    // Only calls that are safe after a fork. The child goes when the test program is killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(log);
  close(null);
  pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  TALLY_ASSERT(pid_fd_ >= 0);
}

ServerProcess::~ServerProcess() {
  if (!ended_) {
    Signal(SIGKILL);
    Wait();
  }
  close(pid_fd_);
}

std::optional<uint16_t> ServerProcess::Port() const {
  if (command_.kind == ServerCommand::Kind::kRedis) {
    return Accepts(chosen_port_) ? std::optional(chosen_port_) : std::nullopt;
  }
  const std::string text = ReadFile(port_path_);
  if (text.empty() || text.back() != '\n') return std::nullopt;
  return static_cast<uint16_t>(std::stoul(text));
}

std::optional<uint16_t> ServerProcess::WaitReady() {
  const auto deadline = steady_clock::now() + kPatience;
  while (true) {
    if (const auto port = Port()) return port;
    if (WaitEnded(std::chrono::milliseconds(1))) return std::nullopt;
    TALLY_ASSERT(steady_clock::now() < deadline);
  }
}

void ServerProcess::Signal(int number) const {
  // By the descriptor: a pid that was reused cannot be hit.
  syscall(SYS_pidfd_send_signal, pid_fd_, number, nullptr, 0);
}

bool ServerProcess::WaitEnded(std::chrono::microseconds limit) {
  if (ended_) return true;
  pollfd ready{pid_fd_, POLLIN, 0};
  const timespec time{limit.count() / 1000000, (limit.count() % 1000000) * 1000};
  if (ppoll(&ready, 1, &time, nullptr) <= 0) return false;
  int status = 0;
  TALLY_ASSERT(waitpid(pid_, &status, 0) == pid_);
  ended_ = WIFSIGNALED(status) ? Ended{true, WTERMSIG(status)} : Ended{false, WEXITSTATUS(status)};
  return true;
}

Ended ServerProcess::Wait() {
  if (!WaitEnded(kPatience)) {
    std::fprintf(stderr, "the server does not end; its log:\n%s\n", Log().c_str());
    Signal(SIGKILL);
    TALLY_ASSERT(false);
  }
  return *ended_;
}

std::string ServerProcess::Log() const {
  return ReadFile(log_path_);
}

std::string TallystickBinary() {
  return FromEnvironment("TALLYSTICK_SERVER");
}
std::string FaultBinary() {
  return FromEnvironment("TALLYSTICK_FAULT_SERVER");
}
std::string RedisBinary() {
  const char* const path = "/usr/bin/redis-server";
  return access(path, X_OK) == 0 ? path : "";
}

uint64_t RandomSeed() {
  return std::random_device()();
}

uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const std::string value = FromEnvironment(name);
  return value.empty() ? otherwise : std::stoull(value);
}

}  // namespace tallystick::test
