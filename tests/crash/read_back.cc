#include "tests/crash/read_back.h"

#include <tallystick/types.h>

#include "tools/cli/resp_client.h"

#include <map>
#include <memory>
#include <optional>
#include <set>

namespace tallystick::test {
namespace {

constexpr size_t kProblemsMax = 40;
constexpr int kLoadingRetriesMax = 100000;

// A connection that turns every failure into a problem.
class Reader {
 public:
  Reader(uint16_t port, ReadBackResult* result) : result_(result) {
    RespClientOptions options;
    options.port = port;
    auto client = RespClient::Connect(options);
    if (client) {
      client_ = std::move(*client);
    } else {
      Problem("cannot connect: " + client.error().ToString());
    }
  }

  // The reply, asked for again while the server is loading; nil after a problem.
  RespReply Ask(const std::vector<std::string>& words) {
    const std::vector<std::string_view> views(words.begin(), words.end());
    for (int tries = 0; client_ != nullptr; ++tries) {
      auto reply = client_->Call(views);
      if (!reply) {
        Problem(words[0] + " " + words.back() + ": " + reply.error().ToString());
        client_.reset();
      } else if (reply->ErrorWord() != "LOADING" || tries == kLoadingRetriesMax) {
        if (reply->IsError()) Problem(words[0] + " " + words[1] + ": " + reply->text);
        return *std::move(reply);
      }
    }
    return RespReply();
  }

  void Problem(std::string text) {
    if (result_->problems.size() < kProblemsMax) result_->problems.push_back(std::move(text));
  }

 private:
  ReadBackResult* const result_;
  std::unique_ptr<RespClient> client_;
};

std::set<uint64_t> Numbers(const RespReply& array) {
  std::set<uint64_t> numbers;
  for (const RespReply& item : array.items) numbers.insert(std::stoull(item.text));
  return numbers;
}

std::set<uint64_t> ScanFacts(Reader* reader, const std::string& fact_key) {
  std::set<uint64_t> all;
  std::string cursor = "0";
  do {
    const RespReply page = reader->Ask({"FACT.SCAN", fact_key, cursor, "COUNT", "1000"});
    if (!page.IsArray() || page.items.size() != 2) return all;
    cursor = page.items[0].text;
    all.merge(Numbers(page.items[1]));
  } while (cursor != "0");
  return all;
}

std::set<uint64_t> BitsOf(const std::string& bytes) {
  std::set<uint64_t> bits;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((static_cast<unsigned char>(bytes[i]) >> (7 - bit)) & 1) bits.insert(i * 8 + bit);
    }
  }
  return bits;
}

// The members of a group that is a set, as one command lists them.
std::set<uint64_t> MembersOf(Reader* reader, const Group& group) {
  switch (group.family) {
    case Family::kFacts:
    case Family::kChunkBits:
      return ScanFacts(reader, group.fact_key);
    case Family::kPlainBits:
      return BitsOf(reader->Ask({"GET", group.key}).text);
    default:
      return Numbers(reader->Ask({"SMEMBERS", group.key}));
  }
}

// The same set, asked for in another way: how many members it says it has.
int64_t CardinalityOf(Reader* reader, const Group& group, bool only_redis) {
  if (!group.fact_key.empty() && !only_redis) {
    return reader->Ask({"FACT.CARD", group.fact_key}).integer;
  }
  const bool bits = group.family == Family::kPlainBits;
  return reader->Ask({bits ? "BITCOUNT" : "SCARD", group.key}).integer;
}

std::string Where(const Group& group, const Slot& slot) {
  return group.key + " " + group.entity + " " + std::to_string(slot.uid);
}

class Comparison {
 public:
  Comparison(Universe* universe, uint16_t port) : universe_(universe), reader_(port, &result_) {}

  ReadBackResult Run() {
    for (Group& group : universe_->groups()) {
      if (group.family == Family::kStrings) {
        CompareStrings(&group);
      } else if (group.family == Family::kCounters) {
        CompareCounters(&group);
      } else {
        CompareSet(&group);
      }
    }
    if (!universe_->options().only_redis) CompareCounts();
    return std::move(result_);
  }

 private:
  void Observe(const Group& group, Slot* slot, int64_t observed) {
    ++result_.cells;
    result_.in_doubt += slot->cell.in_doubt();
    if (!slot->cell.Allows(observed)) {
      reader_.Problem(Where(group, *slot) + ": " + slot->cell.Describe() + ", read back " +
                      std::to_string(observed));
    }
    slot->cell.Resolve(observed);
  }

  void CompareSet(Group* group) {
    std::set<uint64_t> members = MembersOf(&reader_, *group);
    const int64_t cardinality = CardinalityOf(&reader_, *group, universe_->options().only_redis);
    if (cardinality != static_cast<int64_t>(members.size())) {
      reader_.Problem(group->key + ": " + std::to_string(members.size()) +
                      " members, but a cardinality of " + std::to_string(cardinality));
    }
    if (!group->entity.empty()) expected_[group->entity][group->slot_name] = cardinality;
    for (Slot& slot : group->slots) Observe(*group, &slot, members.erase(slot.uid) ? 1 : 0);
    for (uint64_t ghost : members) {
      reader_.Problem(group->key + ": nobody wrote member " + std::to_string(ghost));
    }
    if (group->family == Family::kFacts) CompareMany(*group);
    if (group->family == Family::kChunkBits) CompareChunks(*group);
  }

  // Members one by one must agree with the scan.
  void CompareMany(const Group& group) {
    std::vector<std::string> words = {"FACT.MHAS", group.fact_key};
    for (const Slot& slot : group.slots) words.push_back(std::to_string(slot.uid));
    const RespReply reply = reader_.Ask(words);
    for (size_t i = 0; i < group.slots.size() && i < reply.items.size(); ++i) {
      if (reply.items[i].integer == group.slots[i].cell.acknowledged()) continue;
      reader_.Problem(Where(group, group.slots[i]) + ": FACT.MHAS and FACT.SCAN disagree");
    }
  }

  void CompareChunks(const Group& group) {
    std::map<uint64_t, int64_t> chunks;
    for (const Slot& slot : group.slots) {
      chunks[slot.uid / kChunkBits] += slot.cell.acknowledged();
      const RespReply bit =
          reader_.Ask({"GETBIT", ChunkKey(group, slot.uid), std::to_string(slot.uid % kChunkBits)});
      if (bit.integer == slot.cell.acknowledged()) continue;
      reader_.Problem(Where(group, slot) + ": GETBIT and FACT.SCAN disagree");
    }
    for (const auto& [chunk, bits] : chunks) {
      const std::string key = ChunkKey(group, chunk * kChunkBits);
      if (reader_.Ask({"BITCOUNT", key}).integer == bits) continue;
      reader_.Problem(key + ": BITCOUNT is not " + std::to_string(bits));
    }
  }

  void CompareStrings(Group* group) {
    for (Slot& slot : group->slots) {
      const RespReply reply = reader_.Ask({"GET", StringKey(*group, slot.uid)});
      Observe(*group, &slot, reply.IsText() ? std::stoll(reply.text) : 0);
    }
  }

  void CompareCounters(Group* group) {
    const RespReply reply = reader_.Ask(
        {"COUNT.GET", group->entity, kCounterSlots[0], kCounterSlots[1], kCounterSlots[2]});
    if (reply.items.size() != group->slots.size()) return;
    for (Slot& slot : group->slots) {
      Observe(*group, &slot, reply.items[slot.uid].integer);
      expected_[group->entity][kCounterSlots[slot.uid]] = slot.cell.acknowledged();
    }
  }

  // Counts, the stored record and the server's own proof against the facts just read.
  void CompareCounts() {
    reader_.Ask({"COUNT.SYNC"});
    static constexpr const char* kSlots[] = {"like", "fav", "comment", "share", "view"};
    for (const auto& [entity, slots] : expected_) {
      ++result_.entities;
      const RespReply counts = reader_.Ask({"COUNT.GET", entity});
      const std::string record = reader_.Ask({"COUNT.RAW", entity}).text;
      if (counts.items.size() != std::size(kSlots) || record.size() != 4 * std::size(kSlots)) {
        reader_.Problem(entity + ": counts or record of a wrong length");
        continue;
      }
      for (size_t i = 0; i < std::size(kSlots); ++i) {
        const auto found = slots.find(kSlots[i]);
        const int64_t right = found == slots.end() ? 0 : found->second;
        int64_t image = 0;
        for (size_t byte = 0; byte < 4; ++byte) {
          image = image * 256 + static_cast<unsigned char>(record[i * 4 + byte]);
        }
        if (counts.items[i].integer != right || image != std::max<int64_t>(right, 0)) {
          reader_.Problem(entity + " " + kSlots[i] + ": facts " + std::to_string(right) +
                          ", count " + std::to_string(counts.items[i].integer) + ", record " +
                          std::to_string(image));
        }
      }
      CompareProof(entity);
    }
  }

  void CompareProof(const std::string& entity) {
    const RespReply proof = reader_.Ask({"COUNT.VERIFY", entity});
    for (size_t i = 0; i + 1 < proof.items.size(); i += 2) {
      if (proof.items[i].text != "ok") continue;
      if (proof.items[i + 1].integer != 1) reader_.Problem(entity + ": COUNT.VERIFY is not ok");
      return;
    }
    reader_.Problem(entity + ": COUNT.VERIFY does not say whether it is ok");
  }

  Universe* const universe_;
  ReadBackResult result_;
  Reader reader_;
  std::map<std::string, std::map<std::string, int64_t>> expected_;  // entity, slot: facts
};

}  // namespace

ReadBackResult ReadBack(Universe* universe, uint16_t port) {
  return Comparison(universe, port).Run();
}

}  // namespace tallystick::test
