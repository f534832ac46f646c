#include "tools/cli/dump_command.h"

#include "tools/cli/entity_dump.h"
#include "tools/cli/server_listing.h"
#include "tools/cli/text.h"

#include <tallystick/engine.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>

namespace tallystick {
namespace {

bool IsKnown(const EntityDump& dump) {
  const auto& slots = dump.verification.slots;
  return !dump.sets.empty() || std::any_of(slots.begin(), slots.end(), [](const VerifiedSlot& s) {
    return s.record != 0 || s.pending != 0 || s.facts != 0 || s.counter_part != 0;
  });
}

Result<EntityDump> DumpFromEngine(Engine* engine, const DumpFlags& flags) {
  const size_t colon = flags.entity.find(':');
  const EntityKey entity{std::string_view(flags.entity).substr(0, colon),
                         std::string_view(flags.entity).substr(colon + 1)};
  EntityDump dump;
  dump.entity = flags.entity;
  auto verification = engine->Verify(entity);
  if (!verification) return Fail(std::move(verification.error()));
  dump.verification = std::move(*verification);
  auto record = engine->GetRecord(entity);
  if (!record) return Fail(std::move(record.error()));
  dump.record = std::move(*record);
  ListFilter filter;
  filter.etype = std::string(entity.etype);
  filter.eid = std::string(entity.eid);
  std::vector<Listed> listed;
  uint64_t cursor = 0;
  do {
    const Result<uint64_t> next = engine->List(cursor, 1000, filter, &listed);
    if (!next) return Fail(next.error());
    cursor = *next;
  } while (cursor != 0);
  for (const Listed& set : listed) {
    EntityDump::Set dumped;
    dumped.metric = set.metric;
    const FactKey key{dumped.metric, entity.etype, entity.eid};
    if (flags.members > 0) {
      const auto scanned = engine->Scan(key, 0, flags.members, &dumped.members);
      if (!scanned) return Fail(scanned.error());
    }
    auto info = engine->GetSetInfo(key);
    if (!info) return Fail(std::move(info.error()));
    dumped.info = *info;
    dump.sets.push_back(std::move(dumped));
  }
  return dump;
}

// Command plus one argument; an error of the server is a failure here.
Result<RespReply> Ask(RespClient* client, std::string_view command, const std::string& argument) {
  Result<RespReply> reply = client->Call({command, argument});
  if (reply && reply->IsError()) {
    return Fail(StatusCode::kInvalidArgument,
                "the server answered " + std::string(command) + " with " + reply->text);
  }
  return reply;
}

Result<EntityDump::Set> DumpSet(RespClient* client, const std::string& metric,
                                const DumpFlags& flags) {
  const std::string key = metric + ":" + flags.entity;
  EntityDump::Set set;
  set.metric = metric;
  if (flags.members > 0) {
    const auto page = client->Call({"FACT.SCAN", key, "0", "COUNT", std::to_string(flags.members)});
    if (!page) return Fail(page.error());
    if (!page->IsArray() || page->items.size() != 2 || !page->items[1].IsArray()) {
      return Fail(StatusCode::kCorruption, "the server answered FACT.SCAN with " + Describe(*page));
    }
    for (const RespReply& uid : page->items[1].items) {
      uint64_t value = 0;
      std::from_chars(uid.text.data(), uid.text.data() + uid.text.size(), value);
      if (set.members.size() < flags.members) set.members.push_back(value);
    }
  }
  const auto stat = Ask(client, "FACT.STAT", key);
  if (!stat) return Fail(stat.error());
  const auto number = [](const RespReply* map, std::string_view name) {
    int64_t value = 0;
    if (map == nullptr || !FindNumber(*map, name, &value)) return uint64_t{0};
    return static_cast<uint64_t>(value);
  };
  const RespReply* chunks = FindField(*stat, "chunks");
  set.info.cardinality = number(&*stat, "card");
  set.info.chunks_sparse = number(chunks, "sparse");
  set.info.chunks_array = number(chunks, "array");
  set.info.chunks_roaring = number(chunks, "roaring");
  set.info.chunks_dense = number(chunks, "dense");
  set.info.chunks_on_disk = number(chunks, "on_disk");
  set.info.memory_bytes = number(&*stat, "bytes");
  set.info.sequence = number(&*stat, "sequence");
  return set;
}

Result<EntityDump> DumpFromServer(RespClient* client, const DumpFlags& flags) {
  EntityDump dump;
  dump.entity = flags.entity;
  const auto verified = Ask(client, "COUNT.VERIFY", flags.entity);
  if (!verified) return Fail(verified.error());
  auto verification = ParseVerification(*verified);
  if (!verification) {
    return Fail(StatusCode::kCorruption,
                "the server answered COUNT.VERIFY with " + Describe(*verified));
  }
  dump.verification = std::move(*verification);
  auto record = Ask(client, "COUNT.RAW", flags.entity);
  if (!record) return Fail(std::move(record.error()));
  dump.record = std::move(record->text);
  // Metrics that have a slot, and others whose facts are listed.
  std::set<std::string> metrics;
  for (const VerifiedSlot& slot : dump.verification.slots) metrics.insert(slot.name);
  const auto note = [&](const std::string& view) {
    const std::optional<std::string> fact = FactKeyOfView(view);
    if (fact) metrics.insert(fact->substr(0, fact->find(':')));
  };
  const std::string pattern = "bm:*:" + EscapeGlob(flags.entity) + ":*";
  if (Status status = ScanKeys(client, pattern, note); !status.ok()) return Fail(std::move(status));
  for (const std::string& metric : metrics) {
    auto set = DumpSet(client, metric, flags);
    if (!set) return Fail(std::move(set.error()));
    if (set->info.cardinality > 0) dump.sets.push_back(std::move(*set));
  }
  return dump;
}

}  // namespace

ExitCode RunDump(const DumpFlags& flags) {
  const size_t colon = flags.entity.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == flags.entity.size()) {
    return FailWith(ExitCode::kUsage, "an entity is written etype:eid, as article:42");
  }
  Result<EntityDump> dump = EntityDump();
  if (flags.endpoint.dir.empty()) {
    const auto client = ConnectTo(flags.endpoint);
    if (!client) return FailWith(ExitCode::kFailed, std::string(client.error().message()));
    dump = DumpFromServer(client->get(), flags);
  } else {
    Options options;
    options.dir = flags.endpoint.dir;
    options.create_if_missing = false;
    options.warm_up = false;
    const auto engine = Engine::Open(options);
    if (!engine) {
      return FailWith(ExitCode::kDirectoryRefused, "cannot open " + flags.endpoint.dir + ": " +
                                                       std::string(engine.error().message()));
    }
    dump = DumpFromEngine(engine->get(), flags);
    const Status closed = (*engine)->Close();
    if (dump && !closed.ok()) dump = Fail(closed);
  }
  if (!dump) return FailWith(ExitCode::kFailed, std::string(dump.error().message()));
  if (!IsKnown(*dump)) {
    return FailWith(ExitCode::kFailed, "nothing is known of " + Quoted(flags.entity));
  }
  std::fputs(FormatDump(*dump).c_str(), stdout);
  return ExitCode::kOk;
}

}  // namespace tallystick
