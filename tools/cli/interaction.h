// Interactions: who did what to which entity, and when; the rows of a CSV file
//
//   ts,metric,etype,eid,uid,op
//   1403054214196,like,comment,1-0,100000,1
//
// ts: ms since 1970 (UTC). op: 1 sets the fact, 0 clears it. The file is plain or gzip
// (of any number of members). The dialect
// is strict so that nothing is guessed: this header, six fields, LF line ends, no quoting, no blank
// around a field, numbers without sign or leading zeros.
#pragma once

#include <tallystick/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tallystick {

class InputFile;

inline constexpr std::string_view kInteractionHeader = "ts,metric,etype,eid,uid,op";
inline constexpr size_t kInteractionLineBytesMax = 4096;

struct Interaction {
  uint64_t ts_ms = 0;
  std::string_view metric;
  std::string_view etype;
  std::string_view eid;
  uint64_t uid = 0;
  bool set = false;
};

// One line without its line end. Views point into `line`. kInvalidArgument says what is wrong.
Result<Interaction> ParseInteraction(std::string_view line);

// Reads a file row by row. Not thread-safe. Blocks on file reads.
class InteractionReader {
 public:
  // kIoError (missing, unreadable); kInvalidArgument (no such header).
  static Result<std::unique_ptr<InteractionReader>> Open(const std::string& path);
  ~InteractionReader();
  InteractionReader(const InteractionReader&) = delete;
  InteractionReader& operator=(const InteractionReader&) = delete;

  // True: *row is the next row, its views valid until the next call. False: the end of the file.
  // kInvalidArgument names file, line and what is wrong; kCorruption: damaged or cut-off gzip,
  // or anything but further gzip members behind its end.
  Result<bool> Next(Interaction* row);

  uint64_t rows() const { return rows_; }  // returned so far
  // Share of the file that was read, 0 to 1, in bytes as they lie on disk.
  double progress() const;

 private:
  InteractionReader(std::string path, std::unique_ptr<InputFile> file);
  // False at the end of the file.
  Result<bool> NextLine(std::string_view* line);
  Status Refill();
  std::string At() const;  // "FILE:LINE: "

  const std::string path_;
  std::unique_ptr<InputFile> file_;
  std::string buffer_;
  size_t position_ = 0;
  bool end_of_file_ = false;
  uint64_t line_ = 0;  // number of the line last returned, from 1
  uint64_t rows_ = 0;
};

}  // namespace tallystick
