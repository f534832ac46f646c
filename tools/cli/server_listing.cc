#include "tools/cli/server_listing.h"

namespace tallystick {
namespace {

constexpr std::string_view kScanCount = "1000";
constexpr std::string_view kChunkPrefix = "bm:";
constexpr std::string_view kLikesInfix = ":likes:";

}  // namespace

std::optional<std::string> FactKeyOfView(std::string_view key) {
  if (key.starts_with(kChunkPrefix)) {
    const std::string_view rest = key.substr(kChunkPrefix.size());
    const size_t last = rest.rfind(':');
    if (last == std::string_view::npos) return std::nullopt;
    const std::string_view fact = rest.substr(0, last);
    const size_t first = fact.find(':');
    if (first == std::string_view::npos || fact.find(':', first + 1) == std::string_view::npos) {
      return std::nullopt;
    }
    return std::string(fact);
  }
  const size_t infix = key.find(kLikesInfix);
  if (infix == 0 || infix == std::string_view::npos || key.find(':') != infix) return std::nullopt;
  std::string fact = "like:";
  fact.append(key.substr(0, infix + 1)).append(key.substr(infix + kLikesInfix.size()));
  return fact;
}

Status ScanKeys(RespClient* client, const std::string& pattern,
                const std::function<void(const std::string& key)>& visit) {
  std::string cursor = "0";
  do {
    const auto reply = client->Call({"SCAN", cursor, "MATCH", pattern, "COUNT", kScanCount});
    if (!reply) return reply.error();
    if (!reply->IsArray() || reply->items.size() != 2 || !reply->items[0].IsText() ||
        !reply->items[1].IsArray()) {
      return Status::Error(StatusCode::kCorruption,
                           "the server answered SCAN with " + Describe(*reply));
    }
    for (const RespReply& key : reply->items[1].items) {
      if (key.IsText()) visit(key.text);
    }
    cursor = reply->items[0].text;
  } while (cursor != "0");
  return {};
}

std::string EscapeGlob(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::optional<Verification> ParseVerification(const RespReply& reply) {
  Verification verification;
  int64_t ok = 0;
  int64_t sequence = 0;
  int64_t record_sequence = 0;
  const RespReply* slots = FindField(reply, "slots");
  if (!FindNumber(reply, "ok", &ok) || !FindNumber(reply, "sequence", &sequence) ||
      !FindNumber(reply, "record_sequence", &record_sequence) || slots == nullptr ||
      !slots->IsArray() || slots->items.size() % 2 != 0) {
    return std::nullopt;
  }
  verification.ok = ok == 1;
  verification.sequence = static_cast<uint64_t>(sequence);
  verification.record_sequence = static_cast<uint64_t>(record_sequence);
  for (size_t i = 0; i < slots->items.size(); i += 2) {
    VerifiedSlot slot;
    slot.name = slots->items[i].text;
    const RespReply& numbers = slots->items[i + 1];
    if (!FindNumber(numbers, "record", &slot.record) ||
        !FindNumber(numbers, "pending", &slot.pending) ||
        !FindNumber(numbers, "facts", &slot.facts) ||
        !FindNumber(numbers, "counter", &slot.counter_part)) {
      return std::nullopt;
    }
    verification.slots.push_back(std::move(slot));
  }
  return verification;
}

}  // namespace tallystick
