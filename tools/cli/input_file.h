// A file that is read from its beginning to its end, plain or gzip (RFC 1952), of which nothing is
// passed over. zlib's own gzread takes whatever follows a gzip member and does not begin like one
// for the end of the file, so that a damaged header of a later member would hide the rest.
#pragma once

#include <tallystick/result.h>

#include <cstdint>
#include <memory>
#include <string>

namespace tallystick {

// Not thread-safe. Blocks on file reads. A file that begins with gzip's two bytes is gzip.
class InputFile {
 public:
  // kIoError: missing, unreadable, a directory.
  static Result<std::unique_ptr<InputFile>> Open(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Up to `capacity` (at least 1) bytes of content into `out`; 0 only at the end. kIoError;
  // kCorruption says what is wrong with the gzip data, after all that could be read before it.
  Result<size_t> Read(char* out, size_t capacity);

  // Share of the file that was consumed, 0 to 1, in bytes as they lie on disk.
  double progress() const;

 private:
  struct State;
  explicit InputFile(std::unique_ptr<State> state);
  Status Fill();
  Result<size_t> ReadPlain(char* out, size_t capacity);
  Result<size_t> Inflate(char* out, size_t capacity);

  std::unique_ptr<State> state_;
};

}  // namespace tallystick
