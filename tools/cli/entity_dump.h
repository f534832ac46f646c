// Everything that is to be told of one entity, and how it is told.
#pragma once

#include <tallystick/counts.h>
#include <tallystick/engine.h>

#include <string>
#include <vector>

namespace tallystick {

struct EntityDump {
  struct Set {
    std::string metric;
    Engine::SetInfo info;
    std::vector<uint64_t> members;  // the first ones
  };
  std::string entity;         // etype:eid
  Verification verification;  // slots in order, sequences
  std::string record;         // the SDS image, as clients see it
  std::vector<Set> sets;      // with a member
};

std::string FormatDump(const EntityDump& dump);

}  // namespace tallystick
