// The envelope of every persisted record: version byte, body, checksum over (key, version, body).
//
// The checksum is looked at first, so that damage is never mistaken for a new version; a record
// that is whole but newer than this build is refused by name and never guessed at.
#pragma once

#include <tallystick/status.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tallystick {

// What a kind of record is called in messages and the newest version that this build understands.
// Versions count from 1.
struct RecordKind {
  std::string_view name;
  uint8_t newest = 1;
};

// Verifies the checksum, then the version, and gives what lies between them. `*body` points into
// `sealed`. kCorruption or kUnsupportedFormat. O(length), no allocation when OK.
Status OpenVersionedRecord(const RecordKind& kind, std::string_view key, std::string_view sealed,
                           std::string_view* body);

// kCorruption: "<kind>: <what>".
Status DamagedRecord(const RecordKind& kind, std::string_view what);
// kUnsupportedFormat naming the kind, the version found and the newest understood.
Status UnsupportedRecord(const RecordKind& kind, uint64_t found);

}  // namespace tallystick
