#include "tools/cli/verify_report.h"

#include "tools/cli/text.h"

#include <nlohmann/json.hpp>

namespace tallystick {
namespace {

constexpr size_t kLinesMax = 100;  // of drifts and of damage, as text

std::string_view KindWord(DriftKind kind) {
  switch (kind) {
    case DriftKind::kCount:
      return "count";
    case DriftKind::kMissingRecord:
      return "missing record";
    case DriftKind::kCounterPart:
      return "counter part";
  }
  return "unknown";
}

std::string Row(std::string_view name, uint64_t value) {
  std::string line(name);
  line.resize(16, ' ');
  return line + Thousands(value) + "\n";
}

std::string Line(const Drift& drift) {
  std::string line = "drift (" + std::string(KindWord(drift.kind)) + ") " + drift.slot + " of " +
                     drift.etype + ":" + Quoted(drift.eid) + ": record " +
                     std::to_string(drift.record) + ", facts " + std::to_string(drift.facts) +
                     ", counter part " + std::to_string(drift.counter_part);
  if (drift.counter_part != drift.snapshot_counter_part) {
    line += " (in the snapshot " + std::to_string(drift.snapshot_counter_part) + ")";
  }
  return line + "\n";
}

}  // namespace

std::string FormatVerification(const VerifyReport& report) {
  std::string text;
  text += Row("entities", report.entities);
  text += Row("fact sets", report.fact_sets);
  text += Row("facts", report.facts);
  text += Row("slots checked", report.slots);
  text += Row("plain keys", report.plain_keys);
  text += Row("tail events", report.tail_events);
  text += Row("drift", report.drift_count);
  text += Row("damaged", report.damaged_count);
  for (size_t i = 0; i < report.drifts.size() && i < kLinesMax; ++i) text += Line(report.drifts[i]);
  if (report.drift_count > kLinesMax) {
    text += "... and " + Thousands(report.drift_count - kLinesMax) + " more drifts\n";
  }
  for (size_t i = 0; i < report.damaged.size() && i < kLinesMax; ++i) {
    text += "damaged: " + report.damaged[i] + "\n";
  }
  if (report.damaged_count > kLinesMax) {
    text += "... and " + Thousands(report.damaged_count - kLinesMax) + " more damaged pieces\n";
  }
  return text;
}

std::string FormatVerificationJson(const VerifyReport& report) {
  nlohmann::ordered_json json;
  json["ok"] = report.ok();
  json["entities"] = report.entities;
  json["fact_sets"] = report.fact_sets;
  json["facts"] = report.facts;
  json["slots"] = report.slots;
  json["plain_keys"] = report.plain_keys;
  json["tail_events"] = report.tail_events;
  json["drift_count"] = report.drift_count;
  json["drifts"] = nlohmann::ordered_json::array();
  for (const Drift& drift : report.drifts) {
    nlohmann::ordered_json item;
    item["kind"] = KindWord(drift.kind);
    item["etype"] = drift.etype;
    item["eid"] = drift.eid;
    item["slot"] = drift.slot;
    item["record"] = drift.record;
    item["facts"] = drift.facts;
    item["counter_part"] = drift.counter_part;
    item["snapshot_counter_part"] = drift.snapshot_counter_part;
    json["drifts"].push_back(std::move(item));
  }
  json["damaged_count"] = report.damaged_count;
  json["damaged"] = report.damaged;
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tallystick
