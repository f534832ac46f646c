#include "tools/cli/interaction.h"

#include "tools/cli/input_file.h"
#include "tools/cli/text.h"

#include <tallystick/types.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace tallystick {
namespace {

constexpr size_t kFields = 6;
constexpr size_t kReadBytes = 1u << 18;

Failure Malformed(std::string message) {
  return Fail(StatusCode::kInvalidArgument, std::move(message));
}

// Canonical decimal: no sign, no leading zero.
bool ParseU64(std::string_view text, uint64_t* value) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
}

bool IsName(std::string_view text) {
  const auto is_name_byte = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= kNameBytesMax &&
         std::all_of(text.begin(), text.end(), is_name_byte);
}

// Splits at commas; how many fields there are, which may be more than fit into *fields.
size_t Split(std::string_view line, std::array<std::string_view, kFields>* fields) {
  size_t count = 0;
  while (true) {
    const size_t comma = line.find(',');
    if (count < kFields) (*fields)[count] = line.substr(0, comma);
    ++count;
    if (comma == std::string_view::npos) return count;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<Interaction> ParseInteraction(std::string_view line) {
  if (line.empty()) return Malformed("the line is empty");
  if (line.back() == '\r') return Malformed("the line ends with CR LF, not LF");
  if (line.find('"') != std::string_view::npos) return Malformed("quoted fields are not supported");
  std::array<std::string_view, kFields> fields;
  const size_t count = Split(line, &fields);
  if (count != kFields) {
    return Malformed(std::to_string(count) + " fields instead of 6 (" +
                     std::string(kInteractionHeader) + ")");
  }
  Interaction row;
  if (!ParseU64(fields[0], &row.ts_ms)) {
    return Malformed("ts must be a number of ms since 1970, not " + Quoted(fields[0]));
  }
  row.metric = fields[1];
  if (!IsName(row.metric)) {
    return Malformed("metric must be 1 to 64 of A-Z a-z 0-9 _ -, not " + Quoted(fields[1]));
  }
  row.etype = fields[2];
  if (!IsName(row.etype)) {
    return Malformed("etype must be 1 to 64 of A-Z a-z 0-9 _ -, not " + Quoted(fields[2]));
  }
  row.eid = fields[3];
  if (row.eid.empty() || row.eid.size() > kEidBytesMax) {
    return Malformed("eid must have 1 to 512 bytes, not " + std::to_string(row.eid.size()));
  }
  if (!ParseU64(fields[4], &row.uid)) {
    return Malformed("uid must be a number from 0 to 18446744073709551615, not " +
                     Quoted(fields[4]));
  }
  if (fields[5] != "0" && fields[5] != "1") {
    return Malformed("op must be 1 (set) or 0 (clear), not " + Quoted(fields[5]));
  }
  row.set = fields[5] == "1";
  return row;
}

InteractionReader::InteractionReader(std::string path, std::unique_ptr<InputFile> file)
    : path_(std::move(path)), file_(std::move(file)) {}

InteractionReader::~InteractionReader() = default;

Result<std::unique_ptr<InteractionReader>> InteractionReader::Open(const std::string& path) {
  auto file = InputFile::Open(path);
  if (!file) return Fail(file.error());
  std::unique_ptr<InteractionReader> reader(new InteractionReader(path, std::move(*file)));
  std::string_view header;
  const Result<bool> line = reader->NextLine(&header);
  if (!line) return Fail(line.error());
  if (!*line || header != kInteractionHeader) {
    return Malformed(path + ":1: the first line must be " + std::string(kInteractionHeader) +
                     ", not " + Quoted(header));
  }
  return reader;
}

Result<bool> InteractionReader::Next(Interaction* row) {
  std::string_view line;
  const Result<bool> more = NextLine(&line);
  if (!more) return Fail(more.error());
  if (!*more) return false;
  Result<Interaction> parsed = ParseInteraction(line);
  if (!parsed) return Malformed(At() + std::string(parsed.error().message()));
  *row = *parsed;
  ++rows_;
  return true;
}

double InteractionReader::progress() const {
  return end_of_file_ ? 1 : file_->progress();
}

Result<bool> InteractionReader::NextLine(std::string_view* line) {
  while (true) {
    const std::string_view rest = std::string_view(buffer_).substr(position_);
    size_t length = rest.find('\n');
    // The last line may lack its line end; a row that is cut off has too few fields.
    if (length == std::string_view::npos && end_of_file_) {
      if (rest.empty()) return false;
      length = rest.size();
    }
    if (length == std::string_view::npos && rest.size() <= kInteractionLineBytesMax) {
      if (Status status = Refill(); !status.ok()) return Fail(std::move(status));
      continue;
    }
    ++line_;
    if (length > kInteractionLineBytesMax) {
      return Malformed(At() + "the line is longer than " +
                       std::to_string(kInteractionLineBytesMax) + " bytes");
    }
    *line = rest.substr(0, length);
    position_ = std::min(buffer_.size(), position_ + length + 1);
    return true;
  }
}

Status InteractionReader::Refill() {
  buffer_.erase(0, position_);
  position_ = 0;
  const size_t kept = buffer_.size();
  buffer_.resize(kept + kReadBytes);
  const Result<size_t> n = file_->Read(buffer_.data() + kept, kReadBytes);
  buffer_.resize(kept + (n ? *n : 0));
  if (n) {
    end_of_file_ = *n == 0;
    return {};
  }
  if (n.error().code() != StatusCode::kCorruption) return n.error();
  return Status::Error(StatusCode::kCorruption, path_ + " is damaged after line " +
                                                    std::to_string(line_) + ": " +
                                                    std::string(n.error().message()));
}

std::string InteractionReader::At() const {
  return path_ + ":" + std::to_string(line_) + ": ";
}

}  // namespace tallystick
