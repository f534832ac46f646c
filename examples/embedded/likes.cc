// Tallystick inside a program: users like articles, the program asks who did and how many, and then
// has the engine prove that both answers agree. Run it twice on one directory: the second run finds
// the likes of the first, so that nothing changes and nothing is counted again.
//
//   likes DIR
#include <tallystick/engine.h>
#include <tallystick/version.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using tallystick::EntityKey;
using tallystick::FactKey;

// Says what went wrong and gives the exit code for it.
int Failed(const char* what, const tallystick::Status& status) {
  std::fprintf(stderr, "likes: %s: %s\n", what, status.ToString().c_str());
  return 1;
}

int Run(tallystick::Engine& engine) {
  const EntityKey article{"article", "42"};
  const FactKey likes{"like", article.etype, article.eid};

  // One call, one fact. The outcome says whether anything changed.
  const auto first = engine.Set(likes, 7);
  if (!first) return Failed("set", first.error());
  std::printf("user 7: %s\n", first->changed() ? "likes it now" : "liked it before");

  // Many at once cost less: the batch is grouped by shard and waits for the journal once.
  std::vector<tallystick::FactOp> ops;
  for (uint64_t uid = 1; uid <= 1000; ++uid) {
    ops.push_back({.kind = tallystick::FactOpKind::kSet, .labels = {}, .key = likes, .uid = uid});
  }
  std::vector<tallystick::FactOutcome> outcomes(ops.size());
  if (const auto status = engine.Apply(ops, outcomes); !status.ok()) return Failed("apply", status);
  int changed = 0;
  for (const auto& outcome : outcomes) changed += outcome.changed() ? 1 : 0;
  std::printf("batch of 1000: %d changed\n", changed);

  // Counts that no fact stands behind are added to.
  const auto views = engine.AddToCounter(article, "view", 1);
  if (!views) return Failed("add", views.error());
  std::printf("views: %lld\n", static_cast<long long>(*views));

  // After Sync every change above is folded and its record is written.
  if (const auto status = engine.Sync(std::array{article}); !status.ok())
    return Failed("sync", status);
  const auto counts = engine.GetCounts(article);
  if (!counts) return Failed("counts", counts.error());
  const auto& slots = engine.Slots(article.etype);
  for (uint32_t i = 0; i < counts->slots; ++i) {
    std::printf("%s %lld\n", slots[i].name.c_str(), static_cast<long long>(counts->values[i]));
  }

  const auto proof = engine.Verify(article);
  if (!proof) return Failed("verify", proof.error());
  std::printf("record + pending = facts + counter part: %s\n", proof->ok ? "yes" : "no");
  return proof->ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: likes DIR   (tallystick %s)\n", TALLYSTICK_VERSION);
    return 2;
  }
  tallystick::Options options;
  options.dir = argv[1];
  auto engine = tallystick::Engine::Open(options);
  if (!engine) return Failed("open", engine.error());
  const int code = Run(**engine);
  if (const auto status = (*engine)->Close(); !status.ok()) return Failed("close", status);
  return code;
}
