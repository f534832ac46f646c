#include "tools/cli/resp_client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <system_error>

namespace tallystick {
namespace {

std::string ErrnoText(int error) {
  return std::generic_category().message(error);
}

// Waits for `events`, starting anew after a signal. Which of them came; 0 on time-out.
Result<short> PollOnce(int fd, short events, int timeout_ms) {
  pollfd entry{fd, events, 0};
  while (true) {
    const int ready = poll(&entry, 1, timeout_ms);
    if (ready > 0) return entry.revents;
    if (ready == 0) return short{0};
    if (errno != EINTR) return Fail(StatusCode::kIoError, ErrnoText(errno));
  }
}

// One attempt at one address. Returns the connected non-blocking socket.
Result<int> ConnectTo(const addrinfo& address, int timeout_ms) {
  const int fd = socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                        address.ai_protocol);
  if (fd < 0) return Fail(StatusCode::kIoError, ErrnoText(errno));
  int error = connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    const Result<short> ready = PollOnce(fd, POLLOUT, timeout_ms);
    socklen_t length = sizeof(error);
    if (!ready || *ready == 0) {
      error = ETIMEDOUT;
    } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
      error = errno;
    }
  }
  if (error != 0) {
    close(fd);
    return Fail(error == ETIMEDOUT ? StatusCode::kTimedOut : StatusCode::kIoError,
                ErrnoText(error));
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

}  // namespace

Result<std::unique_ptr<RespClient>> RespClient::Connect(const RespClientOptions& options) {
  const std::string peer = options.host + ":" + std::to_string(options.port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found);
  if (failed != 0) {
    return Fail(StatusCode::kIoError, "cannot find host of " + peer + ": " + gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  Status last = Status::Error(StatusCode::kIoError, "no address");
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    Result<int> fd = ConnectTo(*address, options.connect_timeout_ms);
    if (fd) return std::unique_ptr<RespClient>(new RespClient(*fd, options));
    last = std::move(fd.error());
  }
  return Fail(last.code(), "cannot connect to " + peer + ": " + std::string(last.message()));
}

RespClient::RespClient(int fd, const RespClientOptions& options)
    : fd_(fd),
      peer_(options.host + ":" + std::to_string(options.port)),
      reply_timeout_ms_(options.reply_timeout_ms) {}

RespClient::~RespClient() {
  close(fd_);
}

void RespClient::Queue(std::span<const std::string_view> arguments) {
  assert(!arguments.empty());
  output_ += '*';
  output_ += std::to_string(arguments.size());
  output_ += "\r\n";
  for (const std::string_view argument : arguments) {
    output_ += '$';
    output_ += std::to_string(argument.size());
    output_ += "\r\n";
    output_ += argument;
    output_ += "\r\n";
  }
  ++outstanding_;
}

void RespClient::Queue(std::initializer_list<std::string_view> arguments) {
  Queue(std::span<const std::string_view>(arguments.begin(), arguments.size()));
}

Status RespClient::Flush() {
  while (broken_.ok() && unsent() > 0) Pump();
  return broken_;
}

Result<RespReply> RespClient::Read() {
  assert(outstanding_ > 0);
  RespReply reply;
  while (true) {
    // What has arrived is handed out even when the connection is gone by now: the last words of a
    // server that closes are the most useful ones.
    const Result<bool> complete = parser_.Next(&reply);
    if (complete && *complete) {
      --outstanding_;
      return reply;
    }
    if (!complete && broken_.ok()) {
      broken_ =
          Status::Error(complete.error().code(),
                        peer_ + " does not speak RESP: " + std::string(complete.error().message()));
    }
    if (!broken_.ok()) return Fail(broken_);
    Pump();
  }
}

Result<RespReply> RespClient::Call(std::initializer_list<std::string_view> arguments) {
  return Call(std::span<const std::string_view>(arguments.begin(), arguments.size()));
}

Result<RespReply> RespClient::Call(std::span<const std::string_view> arguments) {
  assert(outstanding_ == 0);
  Queue(arguments);
  return Read();
}

void RespClient::Pump() {
  const short events = static_cast<short>(unsent() > 0 ? POLLIN | POLLOUT : POLLIN);
  const Result<short> ready = PollOnce(fd_, events, reply_timeout_ms_);
  if (!ready) return Lost(ready.error().message());
  if (*ready == 0) {
    const std::string waited = std::to_string(reply_timeout_ms_);
    broken_ = Status::Error(StatusCode::kTimedOut, peer_ + " did not answer for " + waited + " ms");
    return;
  }
  if ((*ready & (POLLIN | POLLHUP | POLLERR)) != 0) ReceiveSome();
  if ((*ready & POLLOUT) != 0 && broken_.ok()) SendSome();
}

void RespClient::ReceiveSome() {
  char bytes[65536];
  const ssize_t n = recv(fd_, bytes, sizeof(bytes), 0);
  if (n > 0) {
    parser_.Feed(std::string_view(bytes, static_cast<size_t>(n)));
  } else if (n == 0) {
    Lost("closed by the server");
  } else if (errno != EAGAIN && errno != EINTR) {
    Lost(ErrnoText(errno));
  }
}

void RespClient::SendSome() {
  const ssize_t n = send(fd_, output_.data() + sent_, unsent(), MSG_NOSIGNAL);
  if (n < 0) {
    if (errno != EAGAIN && errno != EINTR) Lost(ErrnoText(errno));
    return;
  }
  sent_ += static_cast<size_t>(n);
  if (unsent() == 0) {
    output_.clear();
    sent_ = 0;
  }
}

void RespClient::Lost(std::string_view why) {
  broken_ =
      Status::Error(StatusCode::kIoError, "connection to " + peer_ + " lost: " + std::string(why));
}

}  // namespace tallystick
