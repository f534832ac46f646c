// EngineImpl: ids of any kind.
#include "engine/base/assert.h"
#include "engine/engine_impl.h"

namespace tallystick {

std::string_view EngineImpl::IdNamespace(std::string_view etype) const {
  if (state_.ids->all().empty()) return {};
  const IdDictionary* ids = state_.ids->Of(etype);
  return ids != nullptr ? std::string_view(ids->name()) : std::string_view();
}

Result<IdDictionary*> EngineImpl::IdsOf(std::string_view etype) const {
  if (IdDictionary* ids = state_.ids->Of(etype)) return ids;
  return Fail(StatusCode::kInvalidArgument, "the entity type has no namespace of ids");
}

Status EngineImpl::GiveOrdinals(std::string_view etype, std::span<const std::string_view> ids,
                                std::span<uint64_t> ordinals) {
  TALLY_ASSERT(ids.size() == ordinals.size());
  const auto dictionary = IdsOf(etype);
  if (!dictionary) return dictionary.error();
  if (state_.read_only()) return const_cast<EngineState&>(state_).ReadOnlyError();
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto ordinal = (*dictionary)->Give(ids[i]);
    if (!ordinal) return ordinal.error();
    ordinals[i] = *ordinal;
  }
  return Status();
}

Status EngineImpl::FindOrdinals(std::string_view etype, std::span<const std::string_view> ids,
                                std::span<uint64_t> ordinals) {
  TALLY_ASSERT(ids.size() == ordinals.size());
  const auto dictionary = IdsOf(etype);
  if (!dictionary) return dictionary.error();
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto ordinal = (*dictionary)->Find(ids[i]);
    if (!ordinal) return ordinal.error();
    ordinals[i] = ordinal->value_or(kNoOrdinal);
  }
  return Status();
}

Status EngineImpl::ReadIds(std::string_view etype, std::span<const uint64_t> ordinals,
                           std::vector<std::string>* ids) {
  const auto dictionary = IdsOf(etype);
  if (!dictionary) return dictionary.error();
  for (const uint64_t ordinal : ordinals) {
    auto id = (*dictionary)->Read(ordinal);
    if (!id) return id.error();
    ids->push_back(std::move(*id));
  }
  return Status();
}

}  // namespace tallystick
