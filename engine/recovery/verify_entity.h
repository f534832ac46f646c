// Checks one entity as it is stored. Written apart from the fold and the loader that the engine
// itself uses, on purpose: a fault there is not repeated here.
#pragma once

#include "engine/counts/schema.h"
#include "engine/facts/entity_image.h"
#include "engine/facts/fact_set.h"
#include "engine/recovery/verify_tail.h"
#include "engine/storage/store.h"

#include <tallystick/verify.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tallystick {

// The pieces of one entity (or plain key, without record and events). Views live during the call.
struct StoredEntity {
  uint32_t shard = 0;
  std::string_view key;  // EntityStoreKey
  std::string_view etype;
  std::string_view eid;
  std::optional<std::string_view> image;
  std::optional<std::string_view> record;
  const std::vector<VerifyEvent>* events = nullptr;  // null: none in the tail
};

class EntityVerifier {
 public:
  // All must outlive the verifier.
  EntityVerifier(Store* store, const Schema* schema, uint64_t text_seed, VerifyReport* report)
      : store_(*store), schema_(*schema), text_seed_(text_seed), report_(*report) {}

  // Adds the entity to the report. kIoError when the store cannot be read; damage is no error but
  // a line of the report.
  Status Verify(const StoredEntity& entity, const VerifyTail& tail);

  void AddDamage(std::string sentence);

 private:
  // What the image (and the chunks that it names) says, and then the tail.
  struct Facts {
    uint64_t sequence = 0;
    std::map<std::string, FactSet, std::less<>> sets;
    std::map<std::string, int64_t, std::less<>> counter_parts;
  };
  struct Sums {
    bool found = false;  // there is a record
    std::vector<int64_t> values;
    std::vector<int64_t> counter_parts;
  };

  // kCorruption from these is damage; the message says what of.
  Status ReadFacts(const StoredEntity& entity, const VerifyTail& tail, Facts* facts);
  Status ReadChunks(const StoredEntity& entity, const std::string& metric, uint64_t image_sequence,
                    FactSet* set);
  Status ReadChunk(const StoredEntity& entity, const std::string& metric, uint64_t chunk,
                   const std::string& piece, uint64_t image_sequence, std::string* value,
                   std::string_view* image);
  Status ReadTexts(const StoredEntity& entity, std::string_view header, uint64_t image_sequence);
  Status ReadSums(const StoredEntity& entity, const VerifyTail& tail,
                  const std::vector<SlotSpec>& slots, Sums* sums);
  Status ApplyTail(const StoredEntity& entity, const VerifyTail& tail, Facts* facts);
  // Recounts every set, by metric.
  void Recount(const Facts& facts, std::map<std::string, int64_t, std::less<>>* counts);
  void Compare(const StoredEntity& entity, const std::vector<SlotSpec>& slots, const Facts& facts,
               const std::map<std::string, int64_t, std::less<>>& counts, const Sums& sums);

  Store& store_;
  const Schema& schema_;
  const uint64_t text_seed_;  // Catalog::text_seed
  VerifyReport& report_;
  std::vector<uint64_t> uids_;  // reused pages of members
};

}  // namespace tallystick
