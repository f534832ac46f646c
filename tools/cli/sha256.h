// SHA-256 (FIPS 180-4) of a stream of bytes, by OpenSSL's libcrypto.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tallystick {

// Not thread-safe. Running out of memory stops the process.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void Update(std::string_view bytes);
  // The digest as 64 lower-case hexadecimal digits. Once per object.
  std::string FinishHex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace tallystick
