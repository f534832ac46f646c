// What a replay ends with: totals, rankings, and a fingerprint of all counts. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tallystick {

inline constexpr size_t kRankingMax = 20;

struct ReplayReport {
  using Ranking = std::vector<std::pair<std::string, int64_t>>;  // (eid, count)

  uint64_t rows = 0;
  uint64_t changes = 0;  // facts that really changed, as the replies said
  uint64_t items = 0;    // (metric, entity) pairs with a fact
  uint64_t facts = 0;
  uint64_t users = 0;  // distinct uids of the facts
  double seconds = 0;  // of sending the rows, until all of them were acknowledged
  std::string counts_sha256;
  std::map<std::string, Ranking> top;  // by "metric:etype"

  double rows_per_second() const { return seconds > 0 ? static_cast<double>(rows) / seconds : 0; }
};

// Collects the counts, then ranks and fingerprints them.
class ReportBuilder {
 public:
  // A count of 0 is left out: the entity has no fact of this metric.
  void AddCount(std::string_view metric, std::string_view etype, std::string_view eid,
                int64_t count);
  // Fills items, counts_sha256 and top. The fingerprint is SHA-256 over the sorted lines
  // `metric TAB etype TAB eid TAB count LF`; a ranking goes by count, then by eid.
  void Finish(ReplayReport* report);

 private:
  std::vector<std::string> lines_;
  std::map<std::string, ReplayReport::Ranking> counts_;
};

std::string FormatTable(const ReplayReport& report);
// One JSON object with the names events, changes, items, facts, users, counts_sha256, top20,
// seconds, rows_per_second.
std::string FormatJson(const ReplayReport& report);

}  // namespace tallystick
