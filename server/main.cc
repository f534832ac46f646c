// tallystick-server: options, the engine, the sockets, and a clean end.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <tallystick/version.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>
#include <thread>

#include "server/commands/command_table.h"
#include "server/log.h"
#include "server/server.h"
#include "server/server_options.h"

namespace tallystick::server {
namespace {

// Exit codes that scripts and tests rely on.
constexpr int kExitFailure = 1;           // cannot listen, write the port file, close cleanly
constexpr int kExitBadConfiguration = 2;  // flags or configuration file
constexpr int kExitRefusedDirectory = 3;  // the engine will not open the directory

// Blocks SIGTERM and SIGINT in every thread; a thread of their own waits for them.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

// Lets the process open as many files as its clients and RocksDB may need.
void RaiseDescriptorLimit(const ServerOptions& options) {
  constexpr rlim_t kReserved = 512;  // RocksDB's files, listeners, event loops
  const rlim_t wanted = options.maxclients + kReserved;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == wanted) return;
  LogWarn("the limit of open files is " + std::to_string(limit.rlim_cur) + ": fewer than " +
          std::to_string(options.maxclients) + " clients may be able to connect");
}

// False, and the log says why, when `path` could not be written as a whole.
bool WritePortFile(const std::string& path, uint16_t port) {
  errno = 0;
  std::ofstream file(path);
  file << port << "\n";
  file.close();
  if (file.good()) return true;
  Log(LogLevel::kError, "cannot write the port to " + path + ": " +
                            std::generic_category().message(errno != 0 ? errno : EIO));
  return false;
}

int Serve(ServerOptions options) {
  const sigset_t signals = BlockSignals();
  SetLogLevel(options.loglevel);
  RaiseDescriptorLimit(options);
  Result<std::unique_ptr<Engine>> engine = Engine::Open(options.EngineOptions(EngineLogger()));
  if (!engine) {
    Log(LogLevel::kError, "cannot open " + options.dir + ": " + engine.error().ToString());
    return engine.error().code() == StatusCode::kInvalidArgument ? kExitBadConfiguration
                                                                 : kExitRefusedDirectory;
  }
  // What the directory has, for CONFIG GET.
  const Stats stats = (*engine)->GetStats();
  options.shards = stats.shards;
  options.partitions = stats.partitions;
  int exit_code = 0;
  {
    Server server(engine->get(), options);
    const Status started = server.Start();
    if (!started.ok()) {
      Log(LogLevel::kError, started.ToString());
      exit_code = kExitFailure;
    } else if (!options.port_file.empty() && !WritePortFile(options.port_file, server.port())) {
      exit_code = kExitFailure;
    } else {
      LogInfo("tallystick-server " TALLYSTICK_VERSION " ready, port " +
              std::to_string(server.port()) + ", data in " + options.dir + ", durability " +
              options.durability);
      std::thread signal_thread([&signals, &server] {
        int received = 0;
        sigwait(&signals, &received);
        server.RequestShutdown();
      });
      server.WaitForShutdown();
      LogInfo("stopping");
      server.Stop();
      // SHUTDOWN leaves the thread waiting: wake it with the signal it waits for.
      pthread_kill(signal_thread.native_handle(), SIGTERM);
      signal_thread.join();
    }
  }
  const Status closed = (*engine)->Close();
  if (!closed.ok()) {
    Log(LogLevel::kError, "closing " + options.dir + ": " + closed.ToString());
    return kExitFailure;
  }
  LogInfo("stopped");
  return exit_code;
}

}  // namespace
}  // namespace tallystick::server

int main(int argc, char** argv) {
  using tallystick::server::CommandLine;
  umask(077);
  const CommandLine line = tallystick::server::ParseCommandLine(argc, argv);
  switch (line.action) {
    case CommandLine::Action::kPrint:
      std::cout << line.text;
      return 0;
    case CommandLine::Action::kDumpCommands:
      std::cout << tallystick::server::CommandReference();
      return 0;
    case CommandLine::Action::kFail:
      std::cerr << line.text;
      return tallystick::server::kExitBadConfiguration;
    case CommandLine::Action::kRun:
      break;
  }
  return tallystick::server::Serve(line.options);
}
