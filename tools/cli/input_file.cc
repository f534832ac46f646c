#include "tools/cli/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace tallystick {
namespace {

constexpr size_t kChunkBytes = 1u << 18;
constexpr int kGzipOnly = 15 + 16;  // of inflateInit2: largest window, gzip header and trailer

Failure System(const std::string& what) {
  return Fail(StatusCode::kIoError, what + ": " + std::generic_category().message(errno));
}

}  // namespace

struct InputFile::State {
  std::string path;
  int descriptor = -1;
  uint64_t bytes = 0;  // of the file when it was opened
  uint64_t read = 0;   // of the file so far
  bool end = false;    // of the file
  bool gzip = false;
  bool within_member = false;
  std::array<Bytef, kChunkBytes> input;
  z_stream stream{};  // its next_in and avail_in are the unused input, for plain files too

  ~State() {
    if (gzip) inflateEnd(&stream);
    if (descriptor >= 0) close(descriptor);
  }
};

InputFile::InputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}

InputFile::~InputFile() = default;

Result<std::unique_ptr<InputFile>> InputFile::Open(const std::string& path) {
  auto state = std::make_unique<State>();
  State& s = *state;
  s.path = path;
  s.descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (s.descriptor < 0 || fstat(s.descriptor, &info) != 0) return System("cannot open " + path);
  s.bytes = static_cast<uint64_t>(info.st_size);
  std::unique_ptr<InputFile> file(new InputFile(std::move(state)));
  while (s.stream.avail_in < 2 && !s.end) {
    if (Status status = file->Fill(); !status.ok()) return Fail(std::move(status));
  }
  if (s.stream.avail_in < 2 || s.input[0] != 0x1f || s.input[1] != 0x8b) return file;
  if (inflateInit2(&s.stream, kGzipOnly) != Z_OK) {
    return Fail(StatusCode::kOutOfMemory, "no memory to read " + path);
  }
  s.gzip = true;
  return file;
}

// Appends what the file has next to the unused input.
Status InputFile::Fill() {
  State& s = *state_;
  if (s.stream.avail_in > 0) std::memmove(s.input.data(), s.stream.next_in, s.stream.avail_in);
  s.stream.next_in = s.input.data();
  ssize_t n = 0;
  do {
    n = read(s.descriptor, s.input.data() + s.stream.avail_in, kChunkBytes - s.stream.avail_in);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    return Status::Error(StatusCode::kIoError,
                         "cannot read " + s.path + ": " + std::generic_category().message(errno));
  }
  s.stream.avail_in += static_cast<uInt>(n);
  s.read += static_cast<uint64_t>(n);
  s.end = n == 0;
  return {};
}

Result<size_t> InputFile::Read(char* out, size_t capacity) {
  return state_->gzip ? Inflate(out, capacity) : ReadPlain(out, capacity);
}

Result<size_t> InputFile::ReadPlain(char* out, size_t capacity) {
  State& s = *state_;
  if (s.stream.avail_in == 0) {
    if (Status status = Fill(); !status.ok()) return Fail(std::move(status));
  }
  const size_t n = std::min<size_t>(capacity, s.stream.avail_in);
  if (n > 0) std::memcpy(out, s.stream.next_in, n);
  s.stream.next_in += n;
  s.stream.avail_in -= static_cast<uInt>(n);
  return n;
}

Result<size_t> InputFile::Inflate(char* out, size_t capacity) {
  State& s = *state_;
  s.stream.next_out = reinterpret_cast<Bytef*>(out);
  s.stream.avail_out = static_cast<uInt>(capacity);
  while (s.stream.avail_out == capacity) {
    if (s.stream.avail_in == 0 && !s.end) {
      if (Status status = Fill(); !status.ok()) return Fail(std::move(status));
    }
    if (s.stream.avail_in == 0 && s.end && !s.within_member) return 0;
    // Every call begins where the last one stopped, so an error comes again on the next one.
    const int code = inflate(&s.stream, Z_NO_FLUSH);
    s.within_member = code != Z_STREAM_END;
    if (code == Z_STREAM_END) {
      inflateReset(&s.stream);  // another member may follow
      continue;
    }
    if (code == Z_OK || s.stream.avail_out < capacity) continue;
    if (code == Z_BUF_ERROR && s.stream.avail_in == 0 && !s.end) continue;
    if (code == Z_MEM_ERROR) return Fail(StatusCode::kOutOfMemory, "no memory to read " + s.path);
    if (code == Z_BUF_ERROR) return Fail(StatusCode::kCorruption, "unexpected end of file");
    return Fail(StatusCode::kCorruption, s.stream.msg != nullptr ? s.stream.msg : "not gzip data");
  }
  return capacity - s.stream.avail_out;
}

double InputFile::progress() const {
  if (state_->bytes == 0) return 1;
  const double at = static_cast<double>(state_->read - state_->stream.avail_in);
  return std::min(1.0, at / static_cast<double>(state_->bytes));
}

}  // namespace tallystick
