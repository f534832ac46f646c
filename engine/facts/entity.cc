#include "engine/facts/entity.h"

#include "engine/base/assert.h"
#include "engine/facts/heap.h"

#include <algorithm>
#include <cstring>

namespace tallystick {

std::optional<uint64_t> CanonicalNumber(std::string_view text) {
  if (text.empty() || text.size() > 20 || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  uint64_t number = 0;
  for (const char c : text) {
    const auto digit = static_cast<uint64_t>(static_cast<unsigned char>(c)) - '0';
    if (digit > 9 || __builtin_mul_overflow(number, uint64_t{10}, &number) ||
        __builtin_add_overflow(number, digit, &number)) {
      return std::nullopt;
    }
  }
  return number;
}

Entity::Entity(uint64_t hash_in, uint32_t shard_in, uint16_t etype_in, const Eid& eid)
    : etype_(etype_in),
      shard_(static_cast<uint16_t>(shard_in)),
      eid_is_number_(eid.is_number),
      eid_(eid.number),
      hash_(hash_in) {
  TALLY_ASSERT(shard_in <= UINT16_MAX);
  if (eid.is_number) return;
  const auto length = static_cast<uint32_t>(eid.text.size());
  char* kept = new char[sizeof(length) + length];
  std::memcpy(kept, &length, sizeof(length));
  std::memcpy(kept + sizeof(length), eid.text.data(), length);
  static_assert(sizeof(kept) == sizeof(eid_));
  std::memcpy(&eid_, &kept, sizeof(eid_));
}

Entity::~Entity() {
  if (active_) {
    ActivityDeleter()(static_cast<ActivityHead*>(rest_));
  } else {
    delete static_cast<Details*>(rest_);
  }
  if (!eid_is_number_) delete[](KeptEid().data() - sizeof(uint32_t));
}

std::string_view Entity::KeptEid() const {
  const char* kept = nullptr;
  std::memcpy(&kept, &eid_, sizeof(eid_));
  uint32_t length = 0;
  std::memcpy(&length, kept, sizeof(length));
  return {kept + sizeof(length), length};
}

Entity::Details& Entity::MakeDetails() {
  Details* d = details();
  if (d != nullptr) return *d;
  auto made = std::make_unique<Details>();
  d = made.get();
  if (active_) {
    static_cast<ActivityHead*>(rest_)->details = std::move(made);
  } else {
    rest_ = made.release();
  }
  return *d;
}

void Entity::DropEmptyDetails() {
  const Details* d = details();
  if (d == nullptr || !d->empty()) return;
  if (active_) {
    static_cast<ActivityHead*>(rest_)->details.reset();
  } else {
    delete d;
    rest_ = nullptr;
  }
}

MetricSet& Entity::SetFor(uint8_t metric) {
  if (MetricSet* s = FindSet(metric)) return *s;
  if (first_.metric == kNoMetric) {
    first_.metric = metric;
    return first_;
  }
  Details& d = MakeDetails();
  d.more.reserve(d.more.size() + 1);  // few: no slack
  return d.more.emplace_back(metric);
}

void Entity::RemoveEmptySets() {
  if (Details* d = details(); d != nullptr && !d->more.empty()) {
    std::erase_if(d->more, [](const MetricSet& s) { return s.set.empty(); });
  }
  if (first_.metric != kNoMetric && first_.set.empty()) {
    first_ = MetricSet();
    if (Details* d = details(); d != nullptr && !d->more.empty()) {
      first_ = std::move(d->more.back());
      d->more.pop_back();
    }
  }
  DropEmptyDetails();
}

void Entity::ClearSets() {
  first_ = MetricSet();
  if (Details* d = details()) d->more.clear();
  DropEmptyDetails();
}

int64_t Entity::CounterValue(uint8_t slot_name) const {
  for (const CounterPart& c : counters()) {
    if (c.slot_name == slot_name) return c.value;
  }
  return 0;
}

void Entity::SetCounter(uint8_t slot_name, int64_t value) {
  Details& d = MakeDetails();
  for (CounterPart& c : d.counters) {
    if (c.slot_name == slot_name) {
      c.value = value;
      return;
    }
  }
  d.counters.reserve(d.counters.size() + 1);
  d.counters.push_back(CounterPart{slot_name, value});
}

void Entity::RemoveZeroCounters() {
  Details* d = details();
  if (d == nullptr) return;
  std::erase_if(d->counters, [](const CounterPart& c) { return c.value == 0; });
  DropEmptyDetails();
}

PlainState& Entity::MakePlain() {
  Details& d = MakeDetails();
  if (d.plain == nullptr) d.plain = std::make_unique<PlainState>();
  return *d.plain;
}

void Entity::Adopt(FactState facts) {
  ClearSets();
  if (!facts.sets.empty()) {
    first_ = std::move(facts.sets.back());
    facts.sets.pop_back();
  }
  if (facts.sets.empty() && facts.counters.empty() && facts.plain == nullptr) {
    if (Details* d = details()) *d = Details();
    DropEmptyDetails();
    return;
  }
  Details& d = MakeDetails();
  d.more = std::move(facts.sets);
  d.more.shrink_to_fit();
  d.counters = std::move(facts.counters);
  d.counters.shrink_to_fit();
  d.plain = std::move(facts.plain);
}

FactState Entity::Release() {
  FactState facts;
  if (Details* d = details()) {
    facts.sets = std::move(d->more);
    facts.counters = std::move(d->counters);
    facts.plain = std::move(d->plain);
    *d = Details();
    DropEmptyDetails();
  }
  if (first_.metric != kNoMetric) facts.sets.push_back(std::move(first_));
  first_ = MetricSet();
  return facts;
}

bool Entity::Blank() const {
  for (const MetricSet& s : sets()) {
    if (!s.set.empty()) return false;
  }
  for (const CounterPart& c : counters()) {
    if (c.value != 0) return false;
  }
  return plain() == nullptr || plain()->type == PlainType::kNone;
}

size_t Entity::MemoryBytes() const {
  size_t bytes = HeapBytes(sizeof(Entity)) + first_.set.MemoryBytes();
  if (!eid_is_number_) bytes += HeapBytes(sizeof(uint32_t) + KeptEid().size());
  const Details* d = details();
  if (d == nullptr) return bytes;
  bytes += HeapBytes(sizeof(Details));
  if (!d->more.empty()) bytes += HeapBytes(d->more.capacity() * sizeof(MetricSet));
  for (const MetricSet& s : d->more) bytes += s.set.MemoryBytes();
  if (!d->counters.empty()) bytes += HeapBytes(d->counters.capacity() * sizeof(CounterPart));
  if (d->plain == nullptr) return bytes;
  bytes += HeapBytes(sizeof(PlainState));
  if (d->plain->value.capacity() >= sizeof(std::string)) {
    bytes += HeapBytes(d->plain->value.capacity() + 1);
  }
  if (d->plain->texts != nullptr) bytes += d->plain->texts->MemoryBytes();
  return bytes;
}

}  // namespace tallystick
