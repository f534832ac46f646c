// WritePath: the one place where order matters. Under the shard's mutex: look, reserve, change the
// facts, take the next sequence, push the event.
//
// A place in the ring is reserved before anything changes, so there is never a fact without its
// event and a refused write has changed nothing.
#pragma once

#include "engine/committer.h"
#include "engine/recovery/engine_state.h"
#include "engine/recovery/entity_loader.h"
#include "engine/recovery/replay.h"

#include <tallystick/engine.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tallystick {

class WritePath {
 public:
  WritePath(EngineState* state, Committer* committer, EntityLoader* loader, Replay* replay,
            std::function<void(uint32_t partition)> wake_aggregator);

  void Apply(std::span<const FactOp> ops, std::span<FactOutcome> outcomes, int32_t busy_timeout_ms,
             Ticket* ticket);
  Result<uint64_t> ClearRange(const FactKey& key, UidRange range, int32_t busy_timeout_ms,
                              Ticket* ticket);
  // Both changes or none, journaled together (write_path_move.cc).
  Result<bool> Move(const FactOp& take, const FactOp& put, int32_t busy_timeout_ms, Ticket* ticket);
  Result<int64_t> AddToCounter(const EntityKey& entity, std::string_view slot, int64_t delta,
                               int32_t busy_timeout_ms, Ticket* ticket);
  // Pushes the reset; the counts before it are in *before.
  Status Rebuild(const EntityKey& entity, int32_t busy_timeout_ms, Ticket* ticket, Counts* before);
  Result<PlainSetOutcome> PlainSet(std::string_view key, std::string_view value,
                                   const PlainSetOptions& set, int32_t busy_timeout_ms,
                                   Ticket* ticket);
  Result<bool> PlainDelete(std::string_view key, int32_t busy_timeout_ms, Ticket* ticket);
  // Deletes plain keys of one shard whose time has come; how many.
  size_t ExpireDue(uint32_t shard, size_t max);

  // ---- Changes of many facts (write_path_bulk.cc)

  // What there is of a set under its shard's lock, and what shall become of it.
  struct Current {
    const FactSet* set;       // null: no member
    const PlainState* plain;  // of a plain key that lives; null otherwise
  };
  struct Change {
    std::vector<uint64_t> added, removed;    // ascending; none of added is a member, all of removed
    uint64_t bits_bytes = 0;                 // a plain bitmap is at least so long afterwards
    std::vector<std::string> removed_texts;  // of a plain set, all members of it
    std::optional<std::string> value;        // instead of all that: what a plain string becomes
    SetLabels labels;
  };
  // Names a chunk that it needs, or fills *change and answers nullopt. May be called several times.
  using Decide = std::function<std::optional<uint64_t>(const Current& now, Change* change)>;
  // Runs `decide` and applies the change as one event (none when nothing changes). A plain string
  // is shown only to callers of the metric bits; any other contradiction of types is kWrongType.
  Status ChangeSet(const FactKey& key, int32_t busy_timeout_ms, Ticket* ticket,
                   const Decide& decide);
  // The plain key becomes a set (metric "set") or a bitmap of so many bytes (metric "bits"),
  // whatever it was, without expiry; with no member or no byte it is deleted. `list` holds the
  // members of `set` as a chunk list; `texts` (null: none) the further members of a plain set.
  struct PlainContent {
    FactSet set;
    std::string list;
    uint64_t bits_bytes = 0;
    std::unique_ptr<TextSet> texts;
  };
  Status PlainReplace(std::string_view key, std::string_view metric, PlainContent content,
                      int32_t busy_timeout_ms, Ticket* ticket);

  // ---- Large changes, prepared without the shard's mutex (write_path_swap.cc)

  // Keeps an entity of facts and notes what happens to one of its sets, from Begin to the end of
  // its life. Used by one thread.
  class Preparation {
   public:
    explicit Preparation(EngineState* state) : state_(state) {}
    ~Preparation();
    Preparation(const Preparation&) = delete;
    Preparation& operator=(const Preparation&) = delete;

   private:
    friend class WritePath;
    EngineState* const state_;
    Shard* shard_ = nullptr;
    SetWatch watch_;
  };
  // The whole change of a set: from all its members to others.
  struct Swap {
    FactSet before;       // the members that the set has, as far as is known
    FactSet after;        // and those that it gets
    std::string payload;  // EncodeChange of the difference
    int64_t delta = 0;    // members gained less members lost
    bool empty = false;   // there is no difference
    bool ready = false;   // payload, delta and empty are those of before and after
    SetLabels labels;
  };
  // From now on `preparation` notes what changes in the set. `key` is no plain key.
  Status BeginSwap(const FactKey& key, Preparation* preparation);
  // What has become of a fact since it was read.
  struct Flipped {
    uint64_t uid;
    bool is_member;
  };
  // The set becomes swap->after, as one event, if it still has the members of swap->before; what
  // was there is then in swap->before, to be freed without the lock. Where facts have changed
  // meanwhile nothing happens: they are in *flipped, the caller corrects *swap and tries again; or,
  // with `correct`, that is called under the lock and has the last word. kBeginAgain: too much has
  // changed, the set is to be read again.
  enum class SwapAnswer : uint8_t { kDone, kFlipped, kBeginAgain };
  Result<SwapAnswer> TrySwap(const FactKey& key, Preparation* preparation, Swap* swap,
                             std::vector<Flipped>* flipped, const std::function<void()>& correct,
                             int32_t busy_timeout_ms, Ticket* ticket);

  // Removes everything of a shard from memory and pushes the event that says so. All locks of
  // EngineImpl::Wipe are held.
  void WipeShard(uint32_t shard);

  // One entity, found and resident (or null when there is none), under its shard's mutex. Loads and
  // chunk reads release the mutex; `run` then is called anew, so it must not have changed anything
  // yet.
  struct Located {
    Shard& shard;
    uint32_t shard_index;
    const EtypeInfo& etype;
    uint64_t hash;
    Eid eid;
    Entity* entity;
  };
  // What `run` answers: done, a chunk it needs, or room in the ring.
  struct Need {
    enum class What : uint8_t { kDone, kChunk, kRoom } what = What::kDone;
    uint8_t metric = 0;
    uint64_t chunk = 0;
    static Need Done() { return {}; }
    static Need Chunk(uint8_t metric, uint64_t chunk) { return {What::kChunk, metric, chunk}; }
    static Need Room() { return {What::kRoom, 0, 0}; }
  };
  Status WithEntity(const EntityKey& key, bool for_write, int32_t busy_timeout_ms,
                    const std::function<Need(Located&)>& run);

  // In mode always, what a read saw is acknowledged once it is durable.
  void NoteRead(const Located& at, Ticket* ticket) const;
  uint64_t NowMs() const { return state_->clock->WallMs(); }

 private:
  // An operation with its names looked up.
  struct Prepared {
    const FactOp* op = nullptr;
    FactOutcome* outcome = nullptr;
    const EtypeInfo* etype = nullptr;
    Eid eid{std::string_view()};
    uint64_t hash = 0;
    uint32_t shard = 0;
    uint8_t metric = 0;
    bool metric_known = false;
  };
  using PreparedSpan = std::span<const Prepared* const>;
  // `before`: the operation of the batch that was prepared last; null when there is none.
  Status Prepare(const FactOp& op, const Prepared* before, Prepared* prepared);
  static constexpr size_t kWindow = 32;  // operations whose cache misses overlap
  void ApplyWindow(PreparedSpan window, int32_t busy_timeout_ms, Ticket* ticket);
  bool ApplyIfAtHand(Shard& shard, const Prepared& p, Ticket* ticket);
  // All of one shard.
  void ApplyGroup(PreparedSpan group, int32_t busy_timeout_ms, Ticket* ticket);
  Need ApplyOne(Located& at, const FactOp& op, uint8_t metric, bool metric_known,
                FactOutcome* outcome, Ticket* ticket);
  Need ApplyToText(Located& at, const FactOp& op, FactOutcome* outcome, Ticket* ticket);
  Need ApplyToString(Located& at, const FactOp& op, FactOutcome* outcome, Ticket* ticket);
  Status Satisfy(Located& at, const Need& need, int32_t busy_timeout_ms);

  // Makes the entity when there is none, and opens its bucket; the sums of `slot` (kNoSlot: none)
  // are in it, as they are before what the caller changes.
  Entity& Create(Located& at, uint8_t slot);
  void Push(Located& at, Event event, Ticket* ticket);
  static void NoteForWatches(Located& at, const Event& event);
  void ExpireIfDue(Located& at, uint64_t now_ms);
  void SetExpiry(Shard& shard, Entity& entity, uint64_t expire_at_ms);

  EngineState* const state_;
  Committer* const committer_;
  EntityLoader* const loader_;
  Replay* const replay_;
  const std::function<void(uint32_t)> wake_aggregator_;
};

// Limits of keys, with the message that names what is wrong.
Status CheckEntityKey(const EntityKey& key);
Status CheckFactKey(const FactKey& key);
// Ordinals come one by one, so that each is known to have been given.
Status IdsRefuseBulk();
Status CheckText(const FactKey& key, std::string_view text);

}  // namespace tallystick
