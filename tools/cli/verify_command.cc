#include "tools/cli/verify_command.h"

#include "tools/cli/progress.h"
#include "tools/cli/server_listing.h"
#include "tools/cli/text.h"
#include "tools/cli/verify_report.h"

#include <tallystick/verify.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <span>
#include <vector>

namespace tallystick {
namespace {

constexpr size_t kPipeline = 100;  // entities asked about at a time

// "etype:eid" of every entity with a fact that the server lists.
Status ListEntities(RespClient* client, std::set<std::string>* entities) {
  const auto note = [&](const std::string& key) {
    const std::optional<std::string> fact = FactKeyOfView(key);
    if (fact) entities->insert(fact->substr(fact->find(':') + 1));
  };
  if (Status status = ScanKeys(client, "bm:*", note); !status.ok()) return status;
  return ScanKeys(client, "*:likes:*", note);
}

void AddVerification(const std::string& entity, const Verification& verification,
                     VerifyReport* report) {
  for (const VerifiedSlot& slot : verification.slots) {
    ++report->slots;
    report->facts += static_cast<uint64_t>(std::max<int64_t>(0, slot.facts));
    if (slot.facts > 0) ++report->fact_sets;
    if (slot.ok()) continue;
    ++report->drift_count;
    if (report->drifts.size() == kDriftsListedMax) continue;
    const size_t colon = entity.find(':');
    Drift drift;
    drift.etype = entity.substr(0, colon);
    drift.eid = entity.substr(colon + 1);
    drift.slot = slot.name;
    drift.record = slot.record + slot.pending;
    drift.facts = slot.facts;
    drift.counter_part = slot.counter_part;
    drift.snapshot_counter_part = slot.counter_part;
    report->drifts.push_back(std::move(drift));
  }
}

Status VerifyEntities(RespClient* client, std::span<const std::string> entities,
                      VerifyReport* report) {
  for (const std::string& entity : entities) client->Queue({"COUNT.VERIFY", entity});
  for (const std::string& entity : entities) {
    const Result<RespReply> reply = client->Read();
    if (!reply) return reply.error();
    ++report->entities;
    if (const auto verification = ParseVerification(*reply)) {
      AddVerification(entity, *verification, report);
      continue;
    }
    ++report->damaged_count;
    if (report->damaged.size() == kDamagedListedMax) continue;
    report->damaged.push_back(Quoted(entity) + ": the server answered COUNT.VERIFY with " +
                              Describe(*reply));
  }
  return {};
}

Result<VerifyReport> VerifyServer(const Endpoint& endpoint, Progress* progress) {
  const auto client = ConnectTo(endpoint);
  if (!client) return Fail(client.error());
  std::set<std::string> listed;
  if (Status status = ListEntities(client->get(), &listed); !status.ok()) {
    return Fail(std::move(status));
  }
  const std::vector<std::string> entities(listed.begin(), listed.end());
  VerifyReport report;
  for (size_t begin = 0; begin < entities.size(); begin += kPipeline) {
    const size_t n = std::min(kPipeline, entities.size() - begin);
    const std::span<const std::string> some(entities.data() + begin, n);
    if (Status status = VerifyEntities(client->get(), some, &report); !status.ok()) {
      return Fail(std::move(status));
    }
    progress->Update(static_cast<double>(begin + n) / static_cast<double>(entities.size()),
                     report.entities);
  }
  return report;
}

}  // namespace

ExitCode RunVerify(const VerifyFlags& flags) {
  Progress progress(stderr, "entities");
  const bool offline = !flags.endpoint.dir.empty();
  Result<VerifyReport> report =
      offline ? VerifyDirectory(flags.endpoint.dir,
                                [&](double fraction, const VerifyReport& so_far) {
                                  progress.Update(fraction, so_far.entities);
                                })
              : VerifyServer(flags.endpoint, &progress);
  progress.Finish();
  if (!report) {
    const std::string why(report.error().message());
    if (!offline) return FailWith(ExitCode::kFailed, why);
    std::string message = "cannot verify " + flags.endpoint.dir + ": " + why;
    if (report.error().code() == StatusCode::kLocked) {
      message += "; stop the server, or ask it: tallystick verify --host HOST --port PORT";
    }
    return FailWith(ExitCode::kDirectoryRefused, message);
  }
  const std::string text =
      flags.json ? FormatVerificationJson(*report) : FormatVerification(*report);
  std::fputs(text.c_str(), stdout);
  return report->ok() ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace tallystick
