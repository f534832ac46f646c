// What the engine takes from outside, so that tests can stop the clock, run background work by hand
// and break the disk.
#pragma once

#include "engine/base/clock.h"
#include "engine/base/executor.h"
#include "engine/base/random.h"

#include <tallystick/engine.h>

#include <memory>

namespace rocksdb {
class FileSystem;
}

namespace tallystick {

struct Environment {
  Clock* clock = Clock::Real();
  Random* random = Random::System();
  Executor* executor = Executor::Threads();
  std::shared_ptr<rocksdb::FileSystem> file_system;  // null: the real one
};

// Engine::Open with these instead of the real ones, which must outlive the engine.
Result<std::unique_ptr<Engine>> OpenEngine(const Options& options, const Environment& environment);

}  // namespace tallystick
