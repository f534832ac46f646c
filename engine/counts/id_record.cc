#include "engine/counts/id_record.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/names.h"
#include "engine/base/record.h"
#include "engine/facts/packed_id.h"

namespace tallystick {
namespace {

constexpr RecordKind kNamespacesKind = {"id namespaces", kIdRecordVersion};
constexpr RecordKind kGenerationKind = {"generation of ids", kIdRecordVersion};
constexpr RecordKind kNumberKind = {"id of a number", kIdRecordVersion};
constexpr RecordKind kIdKind = {"number of an id", kIdRecordVersion};
constexpr char kGenerationMark = 'g';
constexpr char kIdMark = 'i';
constexpr char kNumberMark = 'n';
constexpr uint64_t kSpecsMax = kEntityTypesMax + 1;

std::string NewRecord() {
  return std::string(1, static_cast<char>(kIdRecordVersion));
}

std::string KeyOf(std::string_view name, char mark) {
  TALLY_ASSERT(IsName(name));
  std::string key(name);
  key.push_back('\0');
  key.push_back(mark);
  return key;
}

}  // namespace

std::string EncodeIdNamespaces(const std::vector<IdNamespaceSpec>& specs) {
  std::string out = NewRecord();
  PutVarint(&out, specs.size());
  for (const IdNamespaceSpec& spec : specs) {
    PutBytes(&out, spec.etype);
    PutBytes(&out, spec.name);
  }
  SealRecord(kIdNamespacesKey, &out);
  return out;
}

Result<std::vector<IdNamespaceSpec>> DecodeIdNamespaces(std::string_view value) {
  std::string_view body;
  if (Status s = OpenVersionedRecord(kNamespacesKind, kIdNamespacesKey, value, &body); !s.ok()) {
    return Fail(std::move(s));
  }
  ByteReader reader(body);
  uint64_t count = 0;
  if (!reader.Varint(&count) || count > kSpecsMax || count > reader.remaining()) {
    return Fail(DamagedRecord(kNamespacesKind, "malformed head"));
  }
  std::vector<IdNamespaceSpec> specs;
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view etype, name;
    if (!reader.Bytes(&etype) || !reader.Bytes(&name) || (etype != "*" && !IsName(etype)) ||
        !IsName(name) || (i > 0 && etype <= specs.back().etype)) {
      return Fail(DamagedRecord(kNamespacesKind, "malformed namespace"));
    }
    specs.push_back({std::string(etype), std::string(name)});
  }
  if (reader.remaining() != 0) return Fail(DamagedRecord(kNamespacesKind, "trailing bytes"));
  return specs;
}

std::string IdGenerationKey(std::string_view name) {
  return KeyOf(name, kGenerationMark);
}

std::string EncodeIdGeneration(std::string_view name, const IdGeneration& generation) {
  std::string out = NewRecord();
  PutVarint(&out, generation.generation);
  for (const uint32_t begin : generation.begins) PutVarint(&out, begin);
  SealRecord(IdGenerationKey(name), &out);
  return out;
}

Result<IdGeneration> DecodeIdGeneration(std::string_view name, std::string_view value) {
  std::string_view body;
  if (Status s = OpenVersionedRecord(kGenerationKind, IdGenerationKey(name), value, &body);
      !s.ok()) {
    return Fail(std::move(s));
  }
  IdGeneration read;
  ByteReader reader(body);
  uint64_t number = 0;
  bool valid = reader.Varint(&number) && number <= UINT32_MAX;
  read.generation = static_cast<uint32_t>(number);
  for (uint32_t& begin : read.begins) {
    valid = valid && reader.Varint(&number) && number <= UINT32_MAX;
    begin = static_cast<uint32_t>(number);
  }
  if (!valid || reader.remaining() != 0) {
    return Fail(DamagedRecord(kGenerationKind, "malformed numbers"));
  }
  return read;
}

std::string IdNumberKey(std::string_view name, uint32_t stripe, uint32_t number) {
  TALLY_ASSERT(stripe <= UINT8_MAX);
  std::string key = KeyOf(name, kNumberMark);
  key.push_back(static_cast<char>(stripe));
  PutU32(&key, number);
  return key;
}

bool ParseIdNumberKey(std::string_view key, std::string_view* name, uint32_t* stripe,
                      uint32_t* number) {
  const size_t length = key.find('\0');
  if (length == std::string_view::npos || !IsName(key.substr(0, length))) return false;
  *name = key.substr(0, length);
  ByteReader reader(key.substr(length + 1));
  uint8_t mark = 0, stripe_byte = 0;
  if (!reader.U8(&mark) || mark != kNumberMark || !reader.U8(&stripe_byte) ||
      stripe_byte >= kIdStripes || !reader.U32(number) || reader.remaining() != 0) {
    return false;
  }
  *stripe = stripe_byte;
  return true;
}

std::string EncodeIdNumber(std::string_view key, std::string_view packed) {
  std::string out = NewRecord();
  out.append(packed);
  SealRecord(key, &out);
  return out;
}

Status DecodeIdNumber(std::string_view key, std::string_view value, std::string_view* packed) {
  if (Status s = OpenVersionedRecord(kNumberKind, key, value, packed); !s.ok()) return s;
  std::string id;
  return UnpackId(*packed, &id) ? Status() : DamagedRecord(kNumberKind, "malformed id");
}

std::string IdKeyPrefix(std::string_view name, uint32_t generation) {
  std::string key = KeyOf(name, kIdMark);
  PutU32(&key, generation);
  return key;
}

std::string IdKey(std::string_view name, uint32_t generation, std::string_view packed) {
  return IdKeyPrefix(name, generation).append(packed);
}

std::string EncodeIdKey(std::string_view key, uint32_t number) {
  std::string out = NewRecord();
  PutVarint(&out, number);
  SealRecord(key, &out);
  return out;
}

Status DecodeIdKey(std::string_view key, std::string_view value, uint32_t* number) {
  std::string_view body;
  if (Status s = OpenVersionedRecord(kIdKind, key, value, &body); !s.ok()) return s;
  ByteReader reader(body);
  uint64_t read = 0;
  if (!reader.Varint(&read) || read > UINT32_MAX || reader.remaining() != 0) {
    return DamagedRecord(kIdKind, "not one number");
  }
  *number = static_cast<uint32_t>(read);
  return Status();
}

}  // namespace tallystick
