#include "engine/base/fault_point.h"

#ifdef TALLYSTICK_FAULT_POINTS
#include "engine/base/mutex.h"

#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <map>

namespace tallystick {
namespace {

struct Armed {
  FaultPoints::Action action;
  uint64_t from_hit;
  uint64_t hits = 0;
};

struct Registry {
  Mutex mutex;
  std::map<std::string, Armed, std::less<>> armed TALLY_GUARDED_BY(mutex);
  // Most hits find nothing armed: they must not serialise the threads under test.
  std::atomic<bool> any{false};

  Registry() {
    const char* spec = std::getenv("TALLYSTICK_FAULTS");
    if (spec == nullptr) return;
    std::string_view rest(spec);
    while (!rest.empty()) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(item.size() == rest.size() ? item.size() : item.size() + 1);
      const size_t equals = item.find('=');
      if (equals == std::string_view::npos) continue;
      std::string_view what = item.substr(equals + 1);
      uint64_t from_hit = 1;
      if (const size_t at = what.find('@'); at != std::string_view::npos) {
        from_hit = std::strtoull(std::string(what.substr(at + 1)).c_str(), nullptr, 10);
        what = what.substr(0, at);
      }
      MutexLock lock(mutex);
      armed[std::string(item.substr(0, equals))] =
          Armed{what == "kill" ? FaultPoints::Action::kKill : FaultPoints::Action::kFail, from_hit};
      any = true;
    }
  }
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

void FaultPoints::Arm(std::string_view name, Action action, uint64_t from_hit) {
  MutexLock lock(registry().mutex);
  registry().armed[std::string(name)] = Armed{action, from_hit};
  registry().any = true;
}

void FaultPoints::Disarm(std::string_view name) {
  MutexLock lock(registry().mutex);
  if (const auto it = registry().armed.find(name); it != registry().armed.end())
    registry().armed.erase(it);
}

void FaultPoints::DisarmAll() {
  MutexLock lock(registry().mutex);
  registry().armed.clear();
  registry().any = false;
}

bool FaultPoints::Hit(std::string_view name) {
  Registry& r = registry();
  if (!r.any.load()) return false;
  MutexLock lock(r.mutex);
  const auto it = r.armed.find(name);
  if (it == r.armed.end() || ++it->second.hits < it->second.from_hit) return false;
  if (it->second.action == Action::kKill) raise(SIGKILL);
  return true;
}

uint64_t FaultPoints::hits(std::string_view name) {
  MutexLock lock(registry().mutex);
  const auto it = registry().armed.find(name);
  return it == registry().armed.end() ? 0 : it->second.hits;
}

}  // namespace tallystick
#endif
