// A server of one connection that follows a script: reads until it has seen given bytes, sends
// given bytes, closes. For tests of clients. It listens on a free port of 127.0.0.1.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace tallystick {

class ScriptedServer {
 public:
  // What the script can do with its connection.
  class Connection {
   public:
    explicit Connection(int fd) : fd_(fd) {}
    // Reads exactly so many bytes, or up to the end of the stream.
    std::string Read(size_t bytes) {
      std::string got(bytes, '\0');
      size_t n = 0;
      while (n < bytes) {
        const ssize_t more = recv(fd_, got.data() + n, bytes - n, 0);
        if (more <= 0) break;
        n += static_cast<size_t>(more);
      }
      got.resize(n);
      return got;
    }
    // What has arrived, at least one byte; empty at the end of the stream.
    std::string ReadSome() {
      std::string got(65536, '\0');
      const ssize_t n = recv(fd_, got.data(), got.size(), 0);
      got.resize(n > 0 ? static_cast<size_t>(n) : 0);
      return got;
    }
    void Send(std::string_view bytes) {
      while (!bytes.empty()) {
        const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n <= 0) return;
        bytes.remove_prefix(static_cast<size_t>(n));
      }
    }

   private:
    int fd_;
  };

  explicit ScriptedServer(std::function<void(Connection&)> script) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, generic, length), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, script = std::move(script)] {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      Connection connection(fd);
      script(connection);
      close(fd);
    });
  }
  ~ScriptedServer() {
    shutdown(listener_, SHUT_RDWR);  // ends an accept that nobody came to
    thread_.join();
    close(listener_);
  }

  uint16_t port() const { return port_; }

 private:
  int listener_ = -1;
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace tallystick
