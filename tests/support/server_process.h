// ServerProcess: a server as a child process, for tests that kill it.
//
// The server listens on 127.0.0.1 on a port that the system chooses and works in a directory that
// is given. It is ended by its own pid, at the latest by the destructor. Not thread-safe, but for
// Signal, which any thread may call while the object lives.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick::test {

struct ServerCommand {
  // tallystick-server, or redis-server as a peer or stand-in.
  enum class Kind { kTallystick, kRedis } kind = Kind::kTallystick;
  std::string binary;
  std::string directory;  // made when missing; holds the data, the log and the port file
  std::vector<std::string> arguments;  // added to those that the harness gives
  std::string faults;                  // value of TALLYSTICK_FAULTS; empty: none
};

struct Ended {
  bool by_signal = false;
  int code = 0;  // exit code, or the signal
};

class ServerProcess {
 public:
  // Starts the process; does not wait for anything.
  explicit ServerProcess(const ServerCommand& command);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Waits until the server accepts connections and returns its port; nullopt when it ended before.
  // Asserts that one of the two happens within a minute.
  std::optional<uint16_t> WaitReady();
  void Signal(int number) const;
  // Waits for the end, at most so long; whether it ended.
  bool WaitEnded(std::chrono::microseconds limit);
  // Waits for the end, at most a minute (then it is killed and the program stops), and says how.
  Ended Wait();
  std::string Log() const;

 private:
  std::optional<uint16_t> Port() const;

  const ServerCommand command_;
  std::string log_path_;
  std::string port_path_;
  uint16_t chosen_port_ = 0;  // redis-server only
  pid_t pid_ = -1;
  int pid_fd_ = -1;
  std::optional<Ended> ended_;
};

// The binary under test (TALLYSTICK_SERVER), the one with fault points (TALLYSTICK_FAULT_SERVER),
// and redis-server; empty where there is none.
std::string TallystickBinary();
std::string FaultBinary();
std::string RedisBinary();

// A seed for tests that are to differ from run to run: TestSeed(RandomSeed()) prints it.
uint64_t RandomSeed();
// A number from the environment.
uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise);

}  // namespace tallystick::test
