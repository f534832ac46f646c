#include "engine/facts/entity_image.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/names.h"
#include "engine/base/record.h"

#include <algorithm>

namespace tallystick {
namespace {

constexpr RecordKind kKind = {"entity image", kEntityImageVersion};
constexpr uint8_t kPlainSetWithTexts = 4;  // follows the values of PlainType
static_assert(static_cast<uint8_t>(PlainType::kSet) == 3);

void PutPlain(std::string* out, const EntityImage& image) {
  TALLY_ASSERT(image.plain != PlainType::kNone || image.expire_at_ms == 0);
  TALLY_ASSERT(image.plain == PlainType::kBits || image.plain_bytes == 0);
  TALLY_ASSERT(image.plain == PlainType::kString || image.plain_value.empty());
  TALLY_ASSERT(image.plain == PlainType::kSet || image.texts.empty());
  out->push_back(static_cast<char>(image.texts.empty() ? static_cast<uint8_t>(image.plain)
                                                       : kPlainSetWithTexts));
  if (image.plain == PlainType::kNone) return;
  PutVarint(out, image.expire_at_ms);
  if (image.plain == PlainType::kBits) PutVarint(out, image.plain_bytes);
  if (image.plain == PlainType::kString) out->append(image.plain_value);
  out->append(image.texts);
}

bool ReadPlain(ByteReader* reader, EntityImage* image) {
  uint8_t type = 0;
  if (!reader->U8(&type) || type > kPlainSetWithTexts) return false;
  const bool with_texts = type == kPlainSetWithTexts;
  image->plain = with_texts ? PlainType::kSet : static_cast<PlainType>(type);
  if (image->plain == PlainType::kNone) return true;
  if (!reader->Varint(&image->expire_at_ms)) return false;
  if (image->plain == PlainType::kBits) return reader->Varint(&image->plain_bytes);
  if (image->plain == PlainType::kString)
    return reader->Raw(reader->remaining(), &image->plain_value);
  if (with_texts) return reader->Raw(reader->remaining(), &image->texts) && !image->texts.empty();
  return true;
}

bool ReadSet(ByteReader* reader, EntityImage::Set* set) {
  uint8_t labels = 0;
  if (!reader->Bytes(&set->metric) || !reader->U8(&labels) || !reader->Bytes(&set->header)) {
    return false;
  }
  set->labels.any = labels & 15;
  set->labels.first = labels >> 4;
  return IsName(set->metric);
}

bool ReadCounterPart(ByteReader* reader, EntityImage::CounterPart* part) {
  return reader->Bytes(&part->slot) && reader->SignedVarint(&part->value) && IsName(part->slot);
}

}  // namespace

std::string EncodeEntityImage(std::string_view key, const EntityImage& image) {
  TALLY_ASSERT(image.sets.size() <= kMetricsMax);
  TALLY_ASSERT(image.counter_parts.size() <= kMetricsMax);
  std::vector<const EntityImage::Set*> sets;
  for (const EntityImage::Set& set : image.sets) sets.push_back(&set);
  std::sort(sets.begin(), sets.end(), [](auto* a, auto* b) { return a->metric < b->metric; });
  std::vector<const EntityImage::CounterPart*> parts;
  for (const EntityImage::CounterPart& part : image.counter_parts) parts.push_back(&part);
  std::sort(parts.begin(), parts.end(), [](auto* a, auto* b) { return a->slot < b->slot; });

  std::string out;
  out.push_back(static_cast<char>(kEntityImageVersion));
  PutVarint(&out, image.sequence);
  PutVarint(&out, image.generation);
  PutVarint(&out, sets.size());
  for (size_t i = 0; i < sets.size(); ++i) {
    const EntityImage::Set& set = *sets[i];
    TALLY_ASSERT(IsName(set.metric));
    TALLY_ASSERT(i == 0 || sets[i - 1]->metric != set.metric);
    TALLY_ASSERT(set.labels.any <= 15 && set.labels.first <= 15);
    PutBytes(&out, set.metric);
    out.push_back(static_cast<char>(set.labels.any | (set.labels.first << 4)));
    PutBytes(&out, set.header);
  }
  PutVarint(&out, parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    TALLY_ASSERT(IsName(parts[i]->slot));
    TALLY_ASSERT(i == 0 || parts[i - 1]->slot != parts[i]->slot);
    PutBytes(&out, parts[i]->slot);
    PutVarint(&out, ZigZag(parts[i]->value));
  }
  PutPlain(&out, image);
  SealRecord(key, &out);
  return out;
}

Status DecodeEntityImage(std::string_view key, std::string_view value, EntityImage* image) {
  *image = EntityImage();
  std::string_view body;
  if (Status s = OpenVersionedRecord(kKind, key, value, &body); !s.ok()) return s;
  ByteReader reader(body);
  uint64_t sets = 0;
  if (!reader.Varint(&image->sequence) || !reader.Varint(&image->generation) ||
      !reader.Varint(&sets) || sets > kMetricsMax) {
    return DamagedRecord(kKind, "malformed head");
  }
  for (uint64_t i = 0; i < sets; ++i) {
    EntityImage::Set set;
    if (!ReadSet(&reader, &set)) return DamagedRecord(kKind, "malformed fact set");
    if (i > 0 && set.metric <= image->sets.back().metric) {
      return DamagedRecord(kKind, "fact sets are not in ascending order");
    }
    image->sets.push_back(set);
  }
  uint64_t parts = 0;
  if (!reader.Varint(&parts) || parts > kMetricsMax) {
    return DamagedRecord(kKind, "malformed number of counter parts");
  }
  for (uint64_t i = 0; i < parts; ++i) {
    EntityImage::CounterPart part;
    if (!ReadCounterPart(&reader, &part)) return DamagedRecord(kKind, "malformed counter part");
    if (i > 0 && part.slot <= image->counter_parts.back().slot) {
      return DamagedRecord(kKind, "counter parts are not in ascending order");
    }
    image->counter_parts.push_back(part);
  }
  if (!ReadPlain(&reader, image)) return DamagedRecord(kKind, "malformed plain part");
  if (reader.remaining() != 0) return DamagedRecord(kKind, "trailing bytes");
  return Status();
}

}  // namespace tallystick
