#include "tools/cli/replay_command.h"

#include "tools/cli/directory_target.h"
#include "tools/cli/schema_config.h"
#include "tools/cli/server_target.h"
#include "tools/cli/text.h"

#include <cstdio>

namespace tallystick {
namespace {

// Opens the target; prints why not and sets *code otherwise.
std::unique_ptr<ReplayTarget> OpenTarget(const ReplayFlags& flags, SchemaSpec schema,
                                         const FactKeys* keys, ExitCode* code) {
  if (flags.endpoint.dir.empty()) {
    Result<std::unique_ptr<RespClient>> client = ConnectTo(flags.endpoint);
    if (client) {
      return std::make_unique<ServerTarget>(std::move(*client), keys, std::move(schema));
    }
    *code = FailWith(ExitCode::kFailed, std::string(client.error().message()));
    return nullptr;
  }
  Options options;
  options.dir = flags.endpoint.dir;
  options.schema = std::move(schema);
  Result<std::unique_ptr<Engine>> engine = Engine::Open(options);
  if (engine) return std::make_unique<DirectoryTarget>(std::move(*engine), keys);
  *code = FailWith(ExitCode::kDirectoryRefused, "cannot open " + flags.endpoint.dir + ": " +
                                                    std::string(engine.error().message()));
  return nullptr;
}

ExitCode Interrupted(const ReplayOutcome& outcome) {
  return FailWith(
      ExitCode::kFailed,
      std::string(outcome.status.message()) + "\n" + Thousands(outcome.acknowledged_rows) +
          " rows were acknowledged. To replay the same file again from its start is safe: "
          "a fact that is already so does not change.");
}

}  // namespace

ExitCode RunReplay(const ReplayFlags& flags) {
  SchemaSpec schema;
  if (!flags.config.empty()) {
    Result<SchemaSpec> read = ReadSchemaConfig(flags.config);
    if (!read) return FailWith(ExitCode::kUsage, std::string(read.error().message()));
    schema = std::move(*read);
  }
  const auto reader = InteractionReader::Open(flags.file);
  if (!reader) return FailWith(ExitCode::kFailed, std::string(reader.error().message()));

  FactKeys keys;
  ExitCode code = ExitCode::kOk;
  const auto target = OpenTarget(flags, std::move(schema), &keys, &code);
  if (target == nullptr) return code;
  Progress progress(stderr, "rows");
  ReplayOutcome outcome = Replay(reader->get(), &keys, target.get(), flags.batch_rows, &progress);
  const Status closed = target->Close();
  if (outcome.status.ok()) outcome.status = closed;
  if (!outcome.status.ok()) return Interrupted(outcome);

  const std::string report = flags.json ? FormatJson(outcome.report) : FormatTable(outcome.report);
  std::fputs(report.c_str(), stdout);
  if (outcome.mismatches == 0) return ExitCode::kOk;
  for (const std::string& mismatch : outcome.first_mismatches) {
    std::fprintf(stderr, "tallystick: %s\n", mismatch.c_str());
  }
  return FailWith(ExitCode::kFailed,
                  Thousands(outcome.mismatches) +
                      " counts differ from their facts: they have a counter part besides, or they "
                      "drifted; `tallystick verify` tells which");
}

}  // namespace tallystick
