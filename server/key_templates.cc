#include "server/key_templates.h"

#include <charconv>

#include "server/resp/number.h"

namespace tallystick::server {

namespace {

constexpr std::string_view kChunkPrefix = "bm:";
constexpr std::string_view kRecordPrefixes[] = {"cnt:v1:", "sds:"};
constexpr std::string_view kLikesPart = "likes:";
constexpr std::string_view kChunkWord = "chunk_";

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// Takes a name ([A-Za-z0-9_-]{1,64}) and the colon behind it off the front of *rest.
bool TakeName(std::string_view* rest, std::string_view* name) {
  size_t length = 0;
  while (length < rest->size() && IsNameByte((*rest)[length])) ++length;
  if (length == 0 || length > kNameBytesMax) return false;
  if (length == rest->size() || (*rest)[length] != ':') return false;
  *name = rest->substr(0, length);
  rest->remove_prefix(length + 1);
  return true;
}

bool IsEid(std::string_view eid) {
  return !eid.empty() && eid.size() <= kEidBytesMax;
}

bool TakeEntity(std::string_view text, std::string_view* etype, std::string_view* eid) {
  if (text.size() >= 2 && text.front() == '{' && text.back() == '}') {
    text = text.substr(1, text.size() - 2);
  }
  if (!TakeName(&text, etype) || !IsEid(text)) return false;
  *eid = text;
  return true;
}

bool ClassifyChunk(std::string_view rest, KeyView* view) {
  std::string_view metric;
  if (!TakeName(&rest, &metric)) return false;
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view number = rest.substr(colon + 1);
  if (number.starts_with(kChunkWord)) number.remove_prefix(kChunkWord.size());
  const std::optional<uint64_t> chunk = ParseUint64(number);
  if (!chunk || *chunk > kChunkMax) return false;
  if (!TakeEntity(rest.substr(0, colon), &view->etype, &view->eid)) return false;
  view->face = Face::kChunk;
  view->metric = metric;
  view->chunk = *chunk;
  return true;
}

}  // namespace

KeyView ClassifyKey(std::string_view key) {
  KeyView view;
  view.key = key;
  if (key.starts_with(kChunkPrefix)) {
    if (ClassifyChunk(key.substr(kChunkPrefix.size()), &view)) return view;
  }
  for (std::string_view prefix : kRecordPrefixes) {
    if (!key.starts_with(prefix)) continue;
    if (TakeEntity(key.substr(prefix.size()), &view.etype, &view.eid)) {
      view.face = Face::kRecord;
      return view;
    }
  }
  std::string_view rest = key;
  std::string_view etype;
  if (TakeName(&rest, &etype) && rest.starts_with(kLikesPart) &&
      IsEid(rest.substr(kLikesPart.size()))) {
    view.face = Face::kLikes;
    view.metric = kLikeMetric;
    view.etype = etype;
    view.eid = rest.substr(kLikesPart.size());
    return view;
  }
  KeyView plain;
  plain.key = key;
  if (key == kReservedKey) plain.face = Face::kReserved;
  return plain;
}

std::optional<EntityKey> ParseEntity(std::string_view text) {
  EntityKey entity;
  if (!TakeEntity(text, &entity.etype, &entity.eid)) return std::nullopt;
  return entity;
}

std::optional<FactKey> ParseFactKey(std::string_view text) {
  FactKey key;
  if (!TakeName(&text, &key.metric)) return std::nullopt;
  if (!TakeEntity(text, &key.etype, &key.eid)) return std::nullopt;
  return key;
}

void AppendChunkKey(const FactKey& key, uint64_t chunk, std::string* out) {
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof(digits), chunk).ptr;
  out->append(kChunkPrefix).append(key.metric).push_back(':');
  out->append(key.etype).push_back(':');
  out->append(key.eid).push_back(':');
  out->append(digits, static_cast<size_t>(end - digits));
}

void AppendLikesKey(const EntityKey& entity, std::string* out) {
  out->append(entity.etype).push_back(':');
  out->append(kLikesPart).append(entity.eid);
}

std::optional<EntityKey> EntityPinnedBy(std::string_view literal_prefix) {
  std::string_view rest = literal_prefix;
  if (!rest.starts_with(kChunkPrefix)) return std::nullopt;
  rest.remove_prefix(kChunkPrefix.size());
  std::string_view metric;
  if (!TakeName(&rest, &metric)) return std::nullopt;
  // "bm:like:article:42:" and "bm:like:article:42:chunk_": what precedes the last colon is the
  // entity.
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return ParseEntity(rest.substr(0, colon));
}

}  // namespace tallystick::server
