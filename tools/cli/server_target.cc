#include "tools/cli/server_target.h"

#include "tools/cli/fact_slots.h"

#include <cassert>
#include <charconv>
#include <chrono>
#include <thread>

namespace tallystick {
namespace {

constexpr std::string_view kSyncTimeoutMs = "50000";

// A reply that should not have come: the server's own words, or what it was instead.
Status Unexpected(std::string_view command, const RespReply& reply) {
  return Status::Error(reply.IsError() ? StatusCode::kInvalidArgument : StatusCode::kCorruption,
                       "the server answered " + std::string(command) + " with " + Describe(reply));
}

// Refused for now, and nothing changed.
bool MayRetry(const RespReply& reply) {
  return reply.ErrorWord() == "BUSY" || reply.ErrorWord() == "LOADING";
}

bool ParseNumber(const RespReply& reply, uint64_t* value) {
  if (!reply.IsText()) return false;
  const char* end = reply.text.data() + reply.text.size();
  const auto [stop, error] = std::from_chars(reply.text.data(), end, *value);
  return error == std::errc() && stop == end;
}

}  // namespace

ServerTarget::ServerTarget(std::unique_ptr<RespClient> client, const FactKeys* keys,
                           SchemaSpec schema)
    : client_(std::move(client)), keys_(*keys), schema_(std::move(schema)) {}

Result<std::string> ServerTarget::SlotName(const NamedFactKey& key) const {
  if (schema_.types.empty()) return std::string(key.metric());
  const std::vector<SlotSpec>* slots = FindSlots(schema_, key.etype());
  const auto slot = slots == nullptr ? std::nullopt : FindFactSlot(*slots, key.metric());
  if (!slot) {
    return Fail(StatusCode::kInvalidArgument, NoFactSlotMessage(key.metric(), key.etype()));
  }
  return (*slots)[*slot].name;
}

Status ServerTarget::CheckCounted(const NamedFactKey& key) {
  const Result<std::string> slot = SlotName(key);
  if (!slot) return slot.error();
  while (true) {
    const Result<RespReply> reply = client_->Call({"COUNT.GET", key.entity(), *slot});
    if (!reply) return reply.error();
    if (reply->IsArray() && reply->items.size() == 1) return {};
    if (!reply->IsError()) return Unexpected("COUNT.GET", *reply);
    if (!MayRetry(*reply)) {
      return Status::Error(StatusCode::kInvalidArgument,
                           NoFactSlotMessage(key.metric(), key.etype()) +
                               " (the server answered COUNT.GET with " + reply->text + ")");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kBusyRetryDelayMs));
  }
}

void ServerTarget::QueueGroup(const ReplayBatch::Group& group) {
  std::vector<std::string> uids;
  uids.reserve(group.uids.size());
  for (const uint64_t uid : group.uids) uids.push_back(std::to_string(uid));
  std::vector<std::string_view> arguments{group.set ? "FACT.ADD" : "FACT.REM",
                                          keys_[group.key].text()};
  arguments.insert(arguments.end(), uids.begin(), uids.end());
  client_->Queue(arguments);
  sent_.push_back(&group);
}

Status ServerTarget::StartBatch(const ReplayBatch& batch) {
  assert(sent_.empty());
  for (const ReplayBatch::Group& group : batch.groups()) QueueGroup(group);
  return client_->Flush();
}

Result<uint64_t> ServerTarget::FinishBatch() {
  uint64_t changes = 0;
  for (int retries = 0;; ++retries) {
    std::vector<const ReplayBatch::Group*> refused;
    std::string refusal;
    for (const ReplayBatch::Group* group : sent_) {
      Result<RespReply> reply = client_->Read();
      if (!reply) return Fail(std::move(reply.error()));
      if (reply->IsInteger() && reply->integer >= 0) {
        changes += static_cast<uint64_t>(reply->integer);
      } else if (MayRetry(*reply)) {
        refused.push_back(group);
        refusal = std::move(reply->text);
      } else {
        return Fail(Unexpected(group->set ? "FACT.ADD" : "FACT.REM", *reply));
      }
    }
    sent_.clear();
    if (refused.empty()) return changes;
    if (retries == kBusyRetriesMax) {
      return Fail(StatusCode::kBusy, "the server goes on refusing writes: " + refusal);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kBusyRetryDelayMs));
    for (const ReplayBatch::Group* group : refused) QueueGroup(*group);
  }
}

Status ServerTarget::Settle() {
  const Result<RespReply> reply = client_->Call({"COUNT.SYNC", "TIMEOUT", kSyncTimeoutMs});
  if (!reply) return reply.error();
  if (!reply->IsText() || reply->text != "OK") return Unexpected("COUNT.SYNC", *reply);
  return {};
}

Status ServerTarget::ReadRecords(std::span<const FactKeys::Number> keys,
                                 std::vector<FactCount>* counts) {
  assert(!keys.empty());
  const Result<std::string> slot = SlotName(keys_[keys[0]]);
  if (!slot) return slot.error();
  std::vector<std::string_view> arguments{"COUNT.MGET", "SLOTS", "1", *slot, "ENTITIES"};
  for (const FactKeys::Number key : keys) arguments.push_back(keys_[key].entity());
  const Result<RespReply> reply = client_->Call(arguments);
  if (!reply) return reply.error();
  if (!reply->IsArray() || reply->items.size() != keys.size()) {
    return Unexpected("COUNT.MGET", *reply);
  }
  for (const RespReply& entity : reply->items) {
    if (!entity.IsArray() || entity.items.size() != 1 || !entity.items[0].IsInteger()) {
      return Unexpected("COUNT.MGET", entity);
    }
    counts->push_back({entity.items[0].integer, 0});
  }
  return {};
}

Status ServerTarget::ReadCounts(std::span<const FactKeys::Number> keys,
                                std::vector<FactCount>* counts) {
  counts->clear();
  for (size_t begin = 0; begin < keys.size();) {
    size_t end = begin + 1;
    while (end < keys.size() && keys_[keys[end]].group() == keys_[keys[begin]].group()) ++end;
    if (Status status = ReadRecords(keys.subspan(begin, end - begin), counts); !status.ok()) {
      return status;
    }
    begin = end;
  }
  for (const FactKeys::Number key : keys) client_->Queue({"FACT.CARD", keys_[key].text()});
  for (FactCount& count : *counts) {
    const Result<RespReply> reply = client_->Read();
    if (!reply) return reply.error();
    if (!reply->IsInteger() || reply->integer < 0) return Unexpected("FACT.CARD", *reply);
    count.facts = static_cast<uint64_t>(reply->integer);
  }
  return {};
}

Status ServerTarget::ReadMembers(std::span<const FactKeys::Number> keys,
                                 std::unordered_set<uint64_t>* uids, uint64_t* members) {
  struct Scan {
    FactKeys::Number key;
    std::string cursor;
  };
  std::vector<Scan> scans;
  for (const FactKeys::Number key : keys) scans.push_back({key, "0"});
  const std::string page = std::to_string(kScanPageUids);
  while (!scans.empty()) {
    for (const Scan& scan : scans) {
      client_->Queue({"FACT.SCAN", keys_[scan.key].text(), scan.cursor, "COUNT", page});
    }
    std::vector<Scan> unfinished;
    for (const Scan& scan : scans) {
      const Result<RespReply> reply = client_->Read();
      if (!reply) return reply.error();
      if (!reply->IsArray() || reply->items.size() != 2 || !reply->items[0].IsText() ||
          !reply->items[1].IsArray()) {
        return Unexpected("FACT.SCAN", *reply);
      }
      for (const RespReply& item : reply->items[1].items) {
        uint64_t uid = 0;
        if (!ParseNumber(item, &uid)) return Unexpected("FACT.SCAN", item);
        uids->insert(uid);
        ++*members;
      }
      if (reply->items[0].text != "0") unfinished.push_back({scan.key, reply->items[0].text});
    }
    scans = std::move(unfinished);
  }
  return {};
}

}  // namespace tallystick
