#include "tools/cli/entity_dump.h"

#include "tools/cli/text.h"

namespace tallystick {
namespace {

// "2 array, 1 dense": the containers by form.
std::string Forms(const Engine::SetInfo& info) {
  std::string forms;
  const auto add = [&](uint64_t count, const char* form) {
    if (count == 0) return;
    if (!forms.empty()) forms += ", ";
    forms += std::to_string(count) + " " + form;
  };
  add(info.chunks_sparse, "sparse");
  add(info.chunks_array, "array");
  add(info.chunks_roaring, "roaring");
  add(info.chunks_dense, "dense");
  add(info.chunks_on_disk, "on disk");
  return forms;
}

std::string SlotLine(const VerifiedSlot& slot) {
  std::string line = "  " + slot.name;
  line.resize(std::max<size_t>(line.size() + 1, 20), ' ');
  line += std::to_string(slot.record + slot.pending) + "  = facts " + std::to_string(slot.facts) +
          " + counter part " + std::to_string(slot.counter_part) + "  (record " +
          std::to_string(slot.record) + ", pending " + std::to_string(slot.pending) + ")";
  if (!slot.ok()) line += "  DRIFT";
  return line + "\n";
}

std::string SetLines(const EntityDump::Set& set) {
  std::string text = "  " + set.metric + ": " + Thousands(set.info.cardinality) + " members, " +
                     Forms(set.info) + ", " + Thousands(set.info.memory_bytes) +
                     " bytes in memory, sequence " + std::to_string(set.info.sequence) + "\n";
  if (set.members.empty()) return text;
  text += "   ";
  for (const uint64_t uid : set.members) text += " " + std::to_string(uid);
  return text + (set.members.size() < set.info.cardinality ? " ...\n" : "\n");
}

}  // namespace

std::string FormatDump(const EntityDump& dump) {
  std::string text = "entity    " + Quoted(dump.entity) + "\n";
  text += "sequence  " + std::to_string(dump.verification.sequence) + ", of the record " +
          std::to_string(dump.verification.record_sequence) + "\n";
  text += "record    " + Hex(dump.record) + "\n";
  text += "slots\n";
  for (const VerifiedSlot& slot : dump.verification.slots) text += SlotLine(slot);
  text += "facts\n";
  if (dump.sets.empty()) text += "  none\n";
  for (const EntityDump::Set& set : dump.sets) text += SetLines(set);
  return text;
}

}  // namespace tallystick
