#include "server/server_state.h"

#include <time.h>

#include <random>

#include "server/key_templates.h"

namespace tallystick::server {

namespace {

std::string RandomHex(size_t bytes) {
  std::random_device device;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    const unsigned value = device();
    text.push_back(kDigits[value & 15]);
    text.push_back(kDigits[(value >> 4) & 15]);
  }
  return text;
}

}  // namespace

int64_t MonotonicMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t WallClockUs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void ServerCounters::Reset() {
  for (std::atomic<uint64_t>* counter :
       {&connections, &rejected_connections, &commands, &error_replies, &protocol_errors,
        &auth_failures, &input_bytes, &output_bytes, &keyspace_hits, &keyspace_misses,
        &managed_writes}) {
    counter->store(0, std::memory_order_relaxed);
  }
}

ServerState::ServerState(Engine* engine, ServerOptions options, ServerControl* control)
    : engine_(engine),
      control_(control),
      options_(std::move(options)),
      run_id_(RandomHex(20)),
      started_ms_(MonotonicMs()) {
  const std::lock_guard lock(mutex_);
  Publish();
}

ServerOptions ServerState::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

void ServerState::Publish() {
  proto_max_bulk_len_.store(options_.proto_max_bulk_len, std::memory_order_relaxed);
  query_buffer_limit_.store(options_.client_query_buffer_limit, std::memory_order_relaxed);
  maxclients_.store(options_.maxclients, std::memory_order_relaxed);
  timeout_s_.store(options_.timeout, std::memory_order_relaxed);
  password_required_.store(!options_.requirepass.empty(), std::memory_order_relaxed);
}

Status ServerState::Change(std::span<const std::pair<const Parameter*, std::string>> changes,
                           std::string* failed) {
  const std::lock_guard lock(mutex_);
  ServerOptions changed = options_;
  for (const auto& [parameter, value] : changes) {
    Status status = SetParameter(*parameter, value, &changed);
    if (!status.ok()) {
      *failed = std::string(parameter->name);
      return status;
    }
  }
  if (changed.durability != options_.durability) {
    engine_->SetDurability(ParseDurability(changed.durability));
  }
  options_ = std::move(changed);
  Publish();
  return {};
}

bool ServerState::PasswordMatches(std::string_view password) const {
  const std::lock_guard lock(mutex_);
  const std::string& expected = options_.requirepass;
  // Looks at every byte of what was given, whatever the outcome.
  unsigned difference = expected.size() == password.size() ? 0 : 1;
  for (size_t i = 0; i < password.size(); ++i) {
    const char byte = expected.empty() ? '\0' : expected[i % expected.size()];
    difference |= static_cast<unsigned char>(byte ^ password[i]);
  }
  return difference == 0;
}

Result<bool> ServerState::LoadShadowNote() {
  Result<std::optional<std::string>> note = engine_->PlainGet(kReservedKey);
  // Where damage hides the note, every access looks for a shadow: slower, and right for all the
  // rest.
  const bool hidden = !note && note.error().code() == StatusCode::kCorruption;
  if (!note && !hidden) return Fail(note.error());
  // Whoever wrote one or forgot all meanwhile knows better.
  Shadows known = Shadows::kUnknown;
  const Shadows found = hidden || note->has_value() ? Shadows::kSome : Shadows::kNone;
  if (shadows_.compare_exchange_strong(known, found)) known = found;
  return known == Shadows::kSome;
}

Status ServerState::NoteShadow() {
  const Result<bool> noted_before = LikesShadowed();
  if (!noted_before) return noted_before.error();
  if (*noted_before) return {};
  // Durable before the first such key is: a restart must never overlook one.
  Result<PlainSetOutcome> noted =
      engine_->PlainSet(kReservedKey, "1", {}, {.wait = WaitFor::kDefault});
  if (!noted) return noted.error();
  shadows_.store(Shadows::kSome, std::memory_order_release);
  return {};
}

int64_t ServerState::uptime_s() const {
  return (MonotonicMs() - started_ms_) / 1000;
}

}  // namespace tallystick::server
