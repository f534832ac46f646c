#include "engine/counts/id_dictionary.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"

#include <algorithm>

namespace tallystick {
namespace {

// Ordinals stay below 2^32.
constexpr uint32_t kNumbersMax = UINT32_MAX / kIdStripes;

Status CheckId(std::string_view id) {
  if (!id.empty() && id.size() <= kIdBytesMax) return Status();
  return Status::Error(StatusCode::kInvalidArgument, "an id is 1 to 512 bytes");
}

Status NoSuchOrdinal() {
  return Status::Error(StatusCode::kInvalidArgument, "no id has this ordinal");
}

}  // namespace

IdDictionary::IdDictionary(std::string name, uint64_t seed, Store* store)
    : name_(std::move(name)), seed_(Hash64(name_, seed)), store_(store) {
  for (uint32_t i = 0; i < kIdStripes; ++i) stripes_.push_back(std::make_unique<Stripe>(seed_));
}

Status IdDictionary::Open() {
  IdGeneration generation;
  std::string value;
  bool found = false;
  if (Status s = store_->Get(ColumnFamily::kIds, IdGenerationKey(name_), &value, &found); !s.ok())
    return s;
  if (found) {
    const auto read = DecodeIdGeneration(name_, value);
    if (!read) return read.error();
    generation = *read;
  }
  generation_ = generation.generation;
  for (uint32_t i = 0; i < kIdStripes; ++i) {
    const std::string first = IdNumberKey(name_, i, 0), last = IdNumberKey(name_, i, UINT32_MAX);
    const auto it = store_->NewIterator(ColumnFamily::kIds, first, last);
    it->SeekForPrev(last);
    if (Status s = it->status(); !s.ok()) return s;
    uint32_t end = generation.begins[i];
    if (it->Valid()) {
      std::string_view name;
      uint32_t stripe = 0, number = 0;
      if (!ParseIdNumberKey(it->key(), &name, &stripe, &number)) {
        return Status::Error(StatusCode::kCorruption, "a key of the id dictionary is malformed");
      }
      end = std::max(end, number + 1);
    }
    Stripe& at = *stripes_[i];
    MutexLock lock(at.mutex);
    at.index.Reset(generation.begins[i], end);
    at.written = end;
    at.begin = generation.begins[i];
    at.end = end;
  }
  return Status();
}

uint32_t IdDictionary::StripeOf(std::string_view packed) const {
  return static_cast<uint32_t>(Hash64(packed, ~seed_) % kIdStripes);
}

Result<std::optional<uint32_t>> IdDictionary::Stored(std::string_view packed, uint32_t stripe) {
  const std::string key = IdKey(name_, generation_.load(std::memory_order_acquire), packed);
  std::string value;
  bool found = false;
  if (Status s = store_->Get(ColumnFamily::kIds, key, &value, &found); !s.ok())
    return Fail(std::move(s));
  if (!found) return std::optional<uint32_t>();
  uint32_t number = 0;
  if (Status s = DecodeIdKey(key, value, &number); !s.ok()) return Fail(std::move(s));
  // Only what the number says back is believed: of a wiped generation nothing is.
  const Stripe& at = *stripes_[stripe];
  if (number < at.begin.load(std::memory_order_acquire)) return std::optional<uint32_t>();
  return std::optional<uint32_t>(number);
}

Result<uint64_t> IdDictionary::Give(std::string_view id) {
  if (Status s = CheckId(id); !s.ok()) return Fail(std::move(s));
  std::string packed;
  PackId(id, &packed);
  const uint32_t stripe = StripeOf(packed);
  Stripe& at = *stripes_[stripe];
  const auto ordinal = [stripe](uint32_t number) { return uint64_t{number} * kIdStripes + stripe; };
  bool asked_store = false;
  uint32_t generation = 0;
  for (;;) {
    {
      MutexLock lock(at.mutex);
      if (const auto number = at.index.Find(packed)) return ordinal(*number);
      // What the store had when it was asked, it has now: only ids that are here become new there.
      const uint32_t now = generation_.load(std::memory_order_acquire);
      if (at.index.complete() || (asked_store && generation == now)) {
        if (at.index.end() >= kNumbersMax) {
          return Fail(StatusCode::kTooLarge, "the id dictionary " + name_ + " is full");
        }
        const uint32_t number = at.index.Append(packed);
        at.end.store(at.index.end(), std::memory_order_release);
        unwritten_.fetch_add(1, std::memory_order_release);
        return ordinal(number);
      }
      generation = now;
    }
    const auto stored = Stored(packed, stripe);
    if (!stored) return Fail(stored.error());
    if (*stored && Valid(ordinal(**stored))) return ordinal(**stored);
    asked_store = true;
  }
}

Result<std::optional<uint64_t>> IdDictionary::Find(std::string_view id) {
  std::optional<uint64_t> none;
  if (!CheckId(id).ok()) return none;
  std::string packed;
  PackId(id, &packed);
  const uint32_t stripe = StripeOf(packed);
  Stripe& at = *stripes_[stripe];
  std::optional<uint32_t> number;
  bool complete = false;
  {
    MutexLock lock(at.mutex);
    number = at.index.Find(packed);
    complete = at.index.complete();
  }
  if (!number && !complete) {
    const auto stored = Stored(packed, stripe);
    if (!stored) return Fail(stored.error());
    number = *stored;
  }
  if (!number) return none;
  return std::optional<uint64_t>(uint64_t{*number} * kIdStripes + stripe);
}

Result<std::string> IdDictionary::Read(uint64_t ordinal) {
  if (!Valid(ordinal)) return Fail(NoSuchOrdinal());
  const auto stripe = static_cast<uint32_t>(ordinal % kIdStripes);
  const auto number = static_cast<uint32_t>(ordinal / kIdStripes);
  std::string id;
  {
    Stripe& at = *stripes_[stripe];
    MutexLock lock(at.mutex);
    const std::string_view packed = at.index.Read(number);
    if (!packed.empty()) {
      TALLY_ASSERT(UnpackId(packed, &id));
      return id;
    }
  }
  const std::string key = IdNumberKey(name_, stripe, number);
  std::string value;
  bool found = false;
  if (Status s = store_->Get(ColumnFamily::kIds, key, &value, &found); !s.ok())
    return Fail(std::move(s));
  if (!found) {
    if (!Valid(ordinal)) return Fail(NoSuchOrdinal());  // wiped meanwhile
    return Fail(StatusCode::kCorruption,
                "the id of ordinal " + std::to_string(ordinal) + " of " + name_ + " is missing");
  }
  std::string_view packed;
  if (Status s = DecodeIdNumber(key, value, &packed); !s.ok()) return Fail(std::move(s));
  TALLY_ASSERT(UnpackId(packed, &id));
  return id;
}

bool IdDictionary::Valid(uint64_t ordinal) const {
  const Stripe& at = *stripes_[ordinal % kIdStripes];
  const uint64_t number = ordinal / kIdStripes;
  return number >= at.begin.load(std::memory_order_acquire) &&
         number < at.end.load(std::memory_order_acquire);
}

void IdDictionary::AppendUnwritten(StoreBatch* batch, Ends* ends) {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < kIdStripes; ++i) {
    Stripe& at = *stripes_[i];
    MutexLock lock(at.mutex);
    for (uint32_t number = at.written; number < at.index.end(); ++number) {
      const std::string_view packed = at.index.Read(number);
      const std::string number_key = IdNumberKey(name_, i, number);
      const std::string id_key = IdKey(name_, generation, packed);
      batch->Put(ColumnFamily::kIds, number_key, EncodeIdNumber(number_key, packed));
      batch->Put(ColumnFamily::kIds, id_key, EncodeIdKey(id_key, number));
    }
    (*ends)[i] = at.index.end();
  }
}

void IdDictionary::NoteWritten(const Ends& ends) {
  for (uint32_t i = 0; i < kIdStripes; ++i) {
    Stripe& at = *stripes_[i];
    MutexLock lock(at.mutex);
    if (ends[i] <= at.written) continue;  // another batch came further
    unwritten_.fetch_sub(ends[i] - at.written, std::memory_order_release);
    at.written = ends[i];
  }
}

void IdDictionary::Wipe() {
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (const auto& stripe : stripes_) {
    MutexLock lock(stripe->mutex);
    const uint32_t end = stripe->index.end();
    unwritten_.fetch_sub(end - stripe->written, std::memory_order_release);
    stripe->written = end;
    stripe->index.Reset(end, end);
    stripe->begin.store(end, std::memory_order_release);
  }
}

void IdDictionary::AppendGeneration(StoreBatch* batch) {
  IdGeneration generation;
  generation.generation = generation_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < kIdStripes; ++i) {
    generation.begins[i] = stripes_[i]->begin.load(std::memory_order_acquire);
  }
  batch->Put(ColumnFamily::kIds, IdGenerationKey(name_), EncodeIdGeneration(name_, generation));
}

Status IdDictionary::CleanUp() {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (generation == 0) return Status();
  if (Status s = store_->DropRange(ColumnFamily::kIds, IdKeyPrefix(name_, 0),
                                   IdKeyPrefix(name_, generation));
      !s.ok()) {
    return s;
  }
  for (uint32_t i = 0; i < kIdStripes; ++i) {
    const uint32_t begin = stripes_[i]->begin.load(std::memory_order_acquire);
    if (begin == 0) continue;
    // Its last number stays, so that opening finds how far numbers were given.
    const Status s = store_->DropRange(ColumnFamily::kIds, IdNumberKey(name_, i, 0),
                                       IdNumberKey(name_, i, begin - 1));
    if (!s.ok()) return s;
  }
  return Status();
}

Result<bool> IdDictionary::LoadSlice(size_t max) {
  for (uint32_t i = 0; i < kIdStripes; ++i) {
    Stripe& at = *stripes_[i];
    uint32_t number = 0, end = 0;
    {
      MutexLock lock(at.mutex);
      if (at.index.complete()) continue;
      number = at.index.next_to_load();
      end = at.written;
    }
    const uint32_t generation = generation_.load(std::memory_order_acquire);
    const std::string first = IdNumberKey(name_, i, number);
    const auto it =
        store_->NewIterator(ColumnFamily::kIds, first, IdNumberKey(name_, i, UINT32_MAX));
    std::vector<std::string> ids;
    for (it->Seek(first); it->Valid() && ids.size() < std::min<size_t>(max, end - number);
         it->Next()) {
      std::string_view packed;
      const auto expected = number + static_cast<uint32_t>(ids.size());
      if (it->key() != IdNumberKey(name_, i, expected)) break;
      if (Status s = DecodeIdNumber(it->key(), it->value(), &packed); !s.ok())
        return Fail(std::move(s));
      ids.emplace_back(packed);
    }
    if (Status s = it->status(); !s.ok()) return Fail(std::move(s));
    MutexLock lock(at.mutex);
    if (generation != generation_.load(std::memory_order_acquire)) return true;
    if (at.index.complete() || at.index.next_to_load() != number) return true;
    if (ids.empty()) {
      return Fail(StatusCode::kCorruption, "number " + std::to_string(number) + " of stripe " +
                                               std::to_string(i) + " of the id dictionary " +
                                               name_ + " is missing");
    }
    for (const std::string& packed : ids) {
      if (at.index.complete()) break;
      at.index.Load(packed);
    }
    return true;
  }
  return false;
}

uint64_t IdDictionary::size() const {
  uint64_t size = 0;
  for (const auto& stripe : stripes_) {
    size +=
        stripe->end.load(std::memory_order_acquire) - stripe->begin.load(std::memory_order_acquire);
  }
  return size;
}

bool IdDictionary::loaded() const {
  for (const auto& stripe : stripes_) {
    MutexLock lock(stripe->mutex);
    if (!stripe->index.complete()) return false;
  }
  return true;
}

size_t IdDictionary::MemoryBytes() const {
  size_t bytes = sizeof(IdDictionary);
  for (const auto& stripe : stripes_) {
    MutexLock lock(stripe->mutex);
    bytes += sizeof(Stripe) + stripe->index.MemoryBytes();
  }
  return bytes;
}

// ---- All of an engine
// ------------------------------------------------------------------------------------

Status IdDictionaries::Open(const std::vector<IdNamespaceSpec>& specs, uint64_t seed,
                            Store* store) {
  TALLY_ASSERT(all_.empty());
  specs_ = specs;
  for (const IdNamespaceSpec& spec : specs_) {
    const bool known = std::any_of(all_.begin(), all_.end(),
                                   [&](const auto& there) { return there->name() == spec.name; });
    if (known) continue;
    auto dictionary = std::make_unique<IdDictionary>(spec.name, seed, store);
    if (Status s = dictionary->Open(); !s.ok()) return s;
    all_.push_back(std::move(dictionary));
  }
  return Status();
}

IdDictionary* IdDictionaries::Of(std::string_view etype) const {
  if (etype.empty()) return nullptr;  // plain keys
  const std::string* name = nullptr;
  for (const IdNamespaceSpec& spec : specs_) {
    if (spec.etype == etype || (spec.etype == "*" && name == nullptr)) name = &spec.name;
    if (spec.etype == etype) break;
  }
  if (name == nullptr) return nullptr;
  for (const auto& dictionary : all_) {
    if (dictionary->name() == *name) return dictionary.get();
  }
  return nullptr;
}

void IdDictionaries::AppendUnwritten(StoreBatch* batch, Ends* ends) const {
  for (const auto& dictionary : all_) {
    if (!dictionary->HasUnwritten()) continue;
    ends->emplace_back(dictionary.get(), IdDictionary::Ends{});
    dictionary->AppendUnwritten(batch, &ends->back().second);
  }
}

void IdDictionaries::NoteWritten(const Ends& ends) {
  for (const auto& [dictionary, written] : ends) dictionary->NoteWritten(written);
}

}  // namespace tallystick
