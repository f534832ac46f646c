// EngineImpl: plain keys.
#include "engine/engine_impl.h"
#include "engine/plain_string.h"

namespace tallystick {

Result<PlainSetOutcome> EngineImpl::PlainSet(std::string_view key, std::string_view value,
                                             const PlainSetOptions& set,
                                             const WriteOptions& options, Ticket* ticket) {
  Ticket own;
  auto outcome = write_path_.PlainSet(key, value, set, options.busy_timeout_ms, &own);
  if (!outcome) return outcome;
  if (Status s = Finish(options, own, ticket); !s.ok()) return Fail(std::move(s));
  return outcome;
}

Result<std::optional<std::string>> EngineImpl::PlainGet(std::string_view key, Ticket* ticket) {
  std::optional<std::string> value;
  const Status status = ReadSet(
      {kPlainBitsMetric, "", key}, ticket, [](const FactSet& set) { return set.FirstAbsent({}); },
      [&](const SetView& view) {
        if (view.plain == nullptr) return Status();
        value = view.plain->type == PlainType::kString
                    ? view.plain->value
                    : BitsAsString(view.set, view.plain->bits_bytes);
        return Status();
      });
  if (!status.ok()) return Fail(status);
  return value;
}

Result<PlainInfo> EngineImpl::GetPlainInfo(std::string_view key, Ticket* ticket) {
  if (Status s = CheckEntityKey({"", key}); !s.ok()) return Fail(std::move(s));
  PlainInfo info;
  const Status status =
      write_path_.WithEntity({"", key}, false, 0, [&](WritePath::Located& at) -> WritePath::Need {
        if (at.entity != nullptr && at.entity->plain() &&
            LivePlain(*at.entity->plain(), write_path_.NowMs())) {
          const PlainState& plain = *at.entity->plain();
          info.type = plain.type;
          info.expire_at_ms = plain.expire_at_ms;
          info.string_bytes = plain.type == PlainType::kString ? plain.value.size()
                              : plain.type == PlainType::kBits ? plain.bits_bytes
                                                               : 0;
        }
        write_path_.NoteRead(at, ticket);
        return WritePath::Need::Done();
      });
  if (!status.ok()) return Fail(status);
  return info;
}

Result<bool> EngineImpl::PlainDelete(std::string_view key, const WriteOptions& options,
                                     Ticket* ticket) {
  Ticket own;
  auto existed = write_path_.PlainDelete(key, options.busy_timeout_ms, &own);
  if (!existed) return existed;
  if (Status s = Finish(options, own, ticket); !s.ok()) return Fail(std::move(s));
  return existed;
}

}  // namespace tallystick
