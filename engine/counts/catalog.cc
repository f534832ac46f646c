#include "engine/counts/catalog.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"
#include "engine/counts/id_dictionary.h"

namespace tallystick {
namespace {

constexpr size_t kMetricSlots = 1024;   // 4 x kMetricsMax
constexpr size_t kEtypeSlots = 131072;  // > 2 x kEntityTypesMax
static_assert(kMetricSlots >= 4 * kMetricsMax && kEtypeSlots >= 2 * kEntityTypesMax);

uint64_t HashName(std::string_view name) {
  return Hash64(name, 0x7461'6c6c'79ull);
}

}  // namespace

const Catalog::NameEntry* Catalog::NameIndex::Find(std::string_view name) const {
  for (size_t i = HashName(name) & mask;; i = (i + 1) & mask) {
    // Acquire pairs with the release in Add: the entry's name is readable once its pointer is.
    const NameEntry* entry = table[i].load(std::memory_order_acquire);
    if (entry == nullptr || entry->name == name) return entry;
  }
}

void Catalog::NameIndex::Add(std::unique_ptr<NameEntry> entry) {
  size_t i = HashName(entry->name) & mask;
  while (table[i].load(std::memory_order_relaxed) != nullptr)
    i = (i + 1) & mask;  // only adders write
  table[i].store(entry.get(), std::memory_order_release);
  owned.push_back(std::move(entry));
}

Catalog::Catalog(Schema schema, uint64_t placement_seed, const IdDictionaries* ids)
    : schema_(std::move(schema)),
      placement_seed_(placement_seed),
      ids_(ids),
      metrics_(kMetricSlots),
      etypes_(kEtypeSlots),
      etype_by_id_(kEntityTypesMax + 1) {
  TALLY_ASSERT(AddMetric(kPlainSetMetric) == kSetMetric);
  TALLY_ASSERT(AddMetric(kPlainBitsMetric) == kBitsMetric);
  TALLY_ASSERT(AddMetric(kTextMetricName) == kTextMetric);
  // Metrics and slots of the schema come before any entity type, so that a type's tables are
  // complete when it is added: a metric that is named later has no slot anywhere.
  for (const EntityTypeSpec& type : schema_.spec().types) {
    for (const SlotSpec& slot : type.slots) {
      TALLY_ASSERT(AddMetric(slot.name).has_value());
      TALLY_ASSERT(AddMetric(slot.metric.empty() ? slot.name : slot.metric).has_value());
    }
  }
  TALLY_ASSERT(AddEtype("")->id == kPlainEtype);
}

Catalog::~Catalog() = default;

uint64_t Catalog::TextSeed(uint64_t placement_seed) {
  return Hash64(kTextMetricName, placement_seed);
}

const EtypeInfo* Catalog::FindEtype(std::string_view name) const {
  const NameEntry* entry = etypes_.Find(name);
  return entry == nullptr ? nullptr : &etype(static_cast<uint16_t>(entry->id));
}

const EtypeInfo& Catalog::etype(uint16_t id) const {
  const EtypeInfo* info = etype_by_id_[id].load(std::memory_order_acquire);  // pairs with AddEtype
  TALLY_ASSERT(info != nullptr);
  return *info;
}

const EtypeInfo* Catalog::AddEtype(std::string_view name) {
  if (const EtypeInfo* found = FindEtype(name)) return found;
  MutexLock lock(mutex_);
  if (const EtypeInfo* found = FindEtype(name)) return found;
  if (etype_infos_.size() > kEntityTypesMax) return nullptr;
  auto info = std::make_unique<EtypeInfo>();
  info->id = static_cast<uint16_t>(etype_infos_.size());
  info->name = std::string(name);
  info->hash_seed = Hash64(name, placement_seed_);
  info->slots = &schema_.Slots(name);
  info->ids = ids_ != nullptr ? ids_->Of(name) : nullptr;
  info->slot_of_metric.fill(kNoSlot);
  info->slot_of_name.fill(kNoSlot);
  for (uint8_t slot = 0; slot < info->slots->size(); ++slot) {
    const SlotSpec& spec = (*info->slots)[slot];
    info->name_of_slot[slot] = *FindMetric(spec.name);
    info->metric_of_slot[slot] = *FindMetric(spec.metric.empty() ? spec.name : spec.metric);
    if (spec.has_facts) info->slot_of_metric[info->metric_of_slot[slot]] = slot;
    info->slot_of_name[info->name_of_slot[slot]] = slot;
  }
  const EtypeInfo* result = info.get();
  etype_by_id_[info->id].store(result, std::memory_order_release);
  etypes_.Add(std::make_unique<NameEntry>(NameEntry{info->name, info->id}));
  etype_infos_.push_back(std::move(info));
  return result;
}

std::optional<uint8_t> Catalog::FindMetric(std::string_view name) const {
  const NameEntry* entry = metrics_.Find(name);
  if (entry == nullptr) return std::nullopt;
  return static_cast<uint8_t>(entry->id);
}

std::optional<uint8_t> Catalog::AddMetric(std::string_view name) {
  if (const auto found = FindMetric(name)) return found;
  MutexLock lock(mutex_);
  if (const auto found = FindMetric(name)) return found;
  if (metric_count_ >= kMetricsMax) return std::nullopt;
  auto entry = std::make_unique<NameEntry>(NameEntry{std::string(name), metric_count_});
  metric_by_id_[metric_count_].store(entry.get(), std::memory_order_release);
  metrics_.Add(std::move(entry));
  return static_cast<uint8_t>(metric_count_++);
}

std::string_view Catalog::metric(uint8_t id) const {
  const NameEntry* entry = metric_by_id_[id].load(std::memory_order_acquire);
  TALLY_ASSERT(entry != nullptr);
  return entry->name;
}

bool Catalog::ValidName(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax) return false;
  for (const char c : name) {
    const bool valid = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
    if (!valid) return false;
  }
  return true;
}

uint64_t Catalog::HashEntity(const EtypeInfo& etype, std::string_view eid) {
  return Hash64(eid, etype.hash_seed);
}

}  // namespace tallystick
