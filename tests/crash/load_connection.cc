#include "tests/crash/load_connection.h"

#include <tallystick/types.h>

#include <algorithm>

namespace tallystick::test {
namespace {

constexpr size_t kProblemsMax = 40;
constexpr uint32_t kMembersAtOnceMax = 4;

// Refusals that promise that nothing changed.
bool IsRefusal(const RespReply& reply) {
  return reply.ErrorWord() == "BUSY" || reply.ErrorWord() == "LOADING";
}

}  // namespace

LoadConnection::LoadConnection(Universe* universe, uint32_t owner, uint64_t seed,
                               std::vector<std::string>* problems)
    : universe_(universe), owner_(owner), problems_(problems), random_(seed) {}

bool LoadConnection::Connect(uint16_t port) {
  RespClientOptions options;
  options.port = port;
  auto client = RespClient::Connect(options);
  if (!client) return false;
  client_ = std::move(*client);
  return true;
}

bool LoadConnection::SendSome(size_t window) {
  while (sent_.size() < window) SendOne();
  return client_->Flush().ok();
}

bool LoadConnection::ReadSome(size_t limit) {
  for (; limit > 0 && !sent_.empty(); --limit) {
    auto reply = client_->Read();
    if (!reply) return false;
    TakeReply(sent_.front(), *reply);
    sent_.pop_front();
  }
  return true;
}

void LoadConnection::Lost() {
  sent_.clear();
  client_.reset();
}

void LoadConnection::SendOne() {
  const auto& mine = universe_->groups_of(owner_);
  const uint32_t group = mine[Below(static_cast<uint32_t>(mine.size()))];
  switch (universe_->groups()[group].family) {
    case Family::kFacts:
      return SendFact(group, true);
    case Family::kMembers:
    case Family::kPlainMembers:
    case Family::kOwnMembers:
      return SendFact(group, false);
    case Family::kChunkBits:
    case Family::kPlainBits:
      return SendBit(group);
    case Family::kStrings:
      return SendString(group);
    case Family::kCounters:
      return SendCounter(group);
  }
}

std::vector<uint32_t> LoadConnection::SomeSlots(uint32_t group, uint32_t most) {
  const Group& g = universe_->groups()[group];
  std::vector<uint32_t> mine;
  for (uint32_t i = 0; i < g.slots.size(); ++i) {
    if (g.slots[i].owner == owner_) mine.push_back(i);
  }
  std::shuffle(mine.begin(), mine.end(), random_);
  mine.resize(std::min<size_t>(mine.size(), 1 + Below(most)));
  return mine;
}

void LoadConnection::SendFact(uint32_t group, bool with_fact_commands) {
  const Group& g = universe_->groups()[group];
  if (g.family == Family::kOwnMembers && Below(20) == 0) {
    std::vector<uint32_t> all(g.slots.size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    return Send(Verb::kExisted, group, std::move(all), {CellOp::Kind::kSet, 0}, {"DEL", g.key});
  }
  const std::vector<uint32_t> one = SomeSlots(group, 1);
  const std::string uid = std::to_string(g.slots[one[0]].uid);
  const uint32_t choice = Below(10);
  if (choice == 0) {
    return Send(Verb::kRead, group, one, {},
                {with_fact_commands ? "FACT.HAS" : "SISMEMBER", g.key, uid});
  }
  if (with_fact_commands && choice <= 3) {
    return Send(Verb::kNow, group, one, {CellOp::Kind::kToggle, 0}, {"FACT.TOGGLE", g.key, uid});
  }
  if (with_fact_commands && choice <= 5) {
    const int64_t bit = Below(2);
    return Send(Verb::kPrevious, group, one, {CellOp::Kind::kSet, bit},
                {"FACT.SET", g.key, uid, std::to_string(bit)});
  }
  const bool add = Below(5) < 3;
  const char* const name =
      with_fact_commands ? (add ? "FACT.ADD" : "FACT.REM") : (add ? "SADD" : "SREM");
  std::vector<uint32_t> some = SomeSlots(group, kMembersAtOnceMax);
  std::vector<std::string> words = {name, g.key};
  for (uint32_t slot : some) words.push_back(std::to_string(g.slots[slot].uid));
  Send(Verb::kChanged, group, std::move(some), {CellOp::Kind::kSet, add ? 1 : 0}, std::move(words));
}

void LoadConnection::SendBit(uint32_t group) {
  const Group& g = universe_->groups()[group];
  const std::vector<uint32_t> one = SomeSlots(group, 1);
  const uint64_t uid = g.slots[one[0]].uid;
  const bool chunked = g.family == Family::kChunkBits;
  const std::string key = chunked ? ChunkKey(g, uid) : g.key;
  const std::string offset = std::to_string(chunked ? uid % kChunkBits : uid);
  if (Below(10) == 0) return Send(Verb::kRead, group, one, {}, {"GETBIT", key, offset});
  const int64_t bit = Below(2);
  Send(Verb::kPrevious, group, one, {CellOp::Kind::kSet, bit},
       {"SETBIT", key, offset, std::to_string(bit)});
}

void LoadConnection::SendString(uint32_t group) {
  const Group& g = universe_->groups()[group];
  const std::vector<uint32_t> one = SomeSlots(group, 1);
  const std::string key = StringKey(g, g.slots[one[0]].uid);
  if (Below(4) == 0) {
    return Send(Verb::kExisted, group, one, {CellOp::Kind::kSet, 0}, {"DEL", key});
  }
  const int64_t value = next_string_++;
  Send(Verb::kOk, group, one, {CellOp::Kind::kSet, value}, {"SET", key, std::to_string(value)});
}

void LoadConnection::SendCounter(uint32_t group) {
  const Group& g = universe_->groups()[group];
  const std::vector<uint32_t> one = SomeSlots(group, 1);
  int64_t delta = 1 + Below(9);
  if (Below(5) == 0) delta = -delta;
  Send(Verb::kNow, group, one, {CellOp::Kind::kAdd, delta},
       {"COUNT.INCRBY", g.entity, kCounterSlots[g.slots[one[0]].uid], std::to_string(delta)});
}

void LoadConnection::Send(Verb verb, uint32_t group, std::vector<uint32_t> slots, CellOp op,
                          std::vector<std::string> words) {
  if (verb != Verb::kRead) {
    for (uint32_t slot : slots) universe_->slot({group, slot}).cell.Send(op);
  }
  const std::vector<std::string_view> views(words.begin(), words.end());
  client_->Queue(views);
  sent_.push_back({verb, group, std::move(slots)});
}

void LoadConnection::TakeReply(const Sent& sent, const RespReply& reply) {
  const Group& g = universe_->groups()[sent.group];
  if (reply.IsError()) {
    if (sent.verb != Verb::kRead) {
      for (uint32_t slot : sent.slots) universe_->slot({sent.group, slot}).cell.Refuse();
    }
    ++refused_;
    if (!IsRefusal(reply) && problems_->size() < kProblemsMax) {
      problems_->push_back(g.key + " " + g.entity + ": " + reply.text);
    }
    return;
  }
  int64_t before = 0;
  int64_t after = 0;
  int64_t changed = 0;
  bool any = false;
  for (uint32_t slot : sent.slots) {
    Cell& cell = universe_->slot({sent.group, slot}).cell;
    before = cell.acknowledged();
    after = sent.verb == Verb::kRead ? before : cell.Acknowledge();
    changed += before != after;
    any |= before != 0;
  }
  acknowledged_writes_ += sent.verb != Verb::kRead;
  bool right = false;
  switch (sent.verb) {
    case Verb::kPrevious:
    case Verb::kRead:
      right = reply.IsInteger() && reply.integer == before;
      break;
    case Verb::kChanged:
      right = reply.IsInteger() && reply.integer == changed;
      break;
    case Verb::kNow:
      right = reply.IsArray() ? !reply.items.empty() && reply.items[0].integer == after
                              : reply.IsInteger() && reply.integer == after;
      break;
    case Verb::kOk:
      right = reply.text == "OK";
      break;
    case Verb::kExisted:
      right = reply.IsInteger() && reply.integer == (any ? 1 : 0);
      break;
  }
  if (!right && problems_->size() < kProblemsMax) {
    problems_->push_back(g.key + " " + g.entity + " uid " +
                         std::to_string(g.slots[sent.slots[0]].uid) + ": value " +
                         std::to_string(before) + " before, reply " + tallystick::Describe(reply));
  }
}

}  // namespace tallystick::test
