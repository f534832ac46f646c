#include "tools/cli/replay_report.h"

#include "tools/cli/sha256.h"
#include "tools/cli/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <cstdio>

namespace tallystick {
namespace {

std::string Row(std::string_view name, const std::string& value) {
  std::string line(name);
  line.resize(16, ' ');
  return line + value + "\n";
}

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

// An eid as a person can read it: as it is when harmless, quoted otherwise.
std::string Readable(const std::string& eid) {
  const std::string quoted = Quoted(eid);
  return quoted.size() == eid.size() + 2 ? eid : quoted;
}

}  // namespace

void ReportBuilder::AddCount(std::string_view metric, std::string_view etype, std::string_view eid,
                             int64_t count) {
  if (count == 0) return;
  std::string group(metric);
  group.append(1, ':').append(etype);
  counts_[group].emplace_back(eid, count);
  std::string line(metric);
  line.append(1, '\t').append(etype).append(1, '\t').append(eid).append(1, '\t');
  lines_.push_back(line.append(std::to_string(count)).append(1, '\n'));
}

void ReportBuilder::Finish(ReplayReport* report) {
  std::sort(lines_.begin(), lines_.end());
  Sha256 sha;
  for (const std::string& line : lines_) sha.Update(line);
  report->counts_sha256 = sha.FinishHex();
  report->items = lines_.size();
  report->top = std::move(counts_);
  for (auto& [group, ranking] : report->top) {
    assert(!ranking.empty());
    const size_t kept = std::min(kRankingMax, ranking.size());
    std::partial_sort(ranking.begin(), ranking.begin() + static_cast<std::ptrdiff_t>(kept),
                      ranking.end(), [](const auto& a, const auto& b) {
                        return a.second != b.second ? a.second > b.second : a.first < b.first;
                      });
    ranking.resize(kept);
  }
}

std::string FormatTable(const ReplayReport& report) {
  std::string table;
  table += Row("rows", Thousands(report.rows));
  table += Row("changes", Thousands(report.changes));
  table += Row("facts", Thousands(report.facts));
  table += Row("users", Thousands(report.users));
  table += Row("items", Thousands(report.items) + " (metric, entity) with a fact");
  table += Row("seconds", Fixed(report.seconds, 2));
  table += Row("rows/s", Thousands(static_cast<uint64_t>(report.rows_per_second())));
  table += Row("counts_sha256", report.counts_sha256);
  for (const auto& [group, ranking] : report.top) {
    table += "\ntop " + std::to_string(ranking.size()) + " of " + group + "\n";
    for (const auto& [eid, count] : ranking) {
      std::string number = Thousands(static_cast<uint64_t>(std::max<int64_t>(0, count)));
      number.insert(0, number.size() < 14 ? 14 - number.size() : 0, ' ');
      table += number + "  " + Readable(eid) + "\n";
    }
  }
  return table;
}

std::string FormatJson(const ReplayReport& report) {
  nlohmann::ordered_json json;
  json["events"] = report.rows;
  json["changes"] = report.changes;
  json["items"] = report.items;
  json["facts"] = report.facts;
  json["users"] = report.users;
  json["counts_sha256"] = report.counts_sha256;
  json["seconds"] = report.seconds;
  json["rows_per_second"] = report.rows_per_second();
  json["top20"] = report.top;
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tallystick
