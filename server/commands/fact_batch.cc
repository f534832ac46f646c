#include "server/commands/fact_batch.h"

#include <cassert>

#include "server/error_reply.h"

namespace tallystick::server {

void FactBatch::Begin(ReplyWriter* writer, Ticket* ticket, std::vector<Span>* spans) {
  assert(empty() && ops_.empty());
  writer_ = writer;
  ticket_ = ticket;
  spans_ = spans;
}

void FactBatch::Open(Reply reply, size_t ops, bool is_write) {
  assert(ops > 0 && writer_ != nullptr);
  if (ops_.size() >= kOpsMax) Flush();
  items_.push_back({.reply = reply, .is_write = is_write, .ops = ops});
}

void FactBatch::Add(const FactOp& op) {
  assert(!items_.empty());
  if (ops_.size() >= kOpsMax) Run();
  ops_.push_back(op);
}

void FactBatch::Flush() {
  if (items_.empty()) return;
  Run();
  assert(items_.empty());
}

void FactBatch::Run() {
  if (ops_.empty()) return;
  outcomes_.assign(ops_.size(), {});
  const Status status = engine_->Apply(ops_, outcomes_, {.wait = WaitFor::kMemory}, ticket_);
  size_t at = 0;
  for (const FactOutcome& outcome : outcomes_) {
    while (items_[at].done == items_[at].ops) ++at;
    Item& item = items_[at];
    if (!status.ok() && item.is_write) item.error = status.code();
    Render(&item, outcome);
  }
  // The last item may have more operations to come; all before it are answered.
  const size_t answered = items_[at].done == items_[at].ops ? at + 1 : at;
  items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(answered));
  ops_.clear();
}

void FactBatch::Render(Item* item, const FactOutcome& outcome) {
  if (!item->started) {
    item->started = true;
    item->begin = writer_->size();
    spans_->push_back({item->begin, item->is_write});
    if (item->reply == Reply::kBits) writer_->Array(item->ops);
  }
  ++item->done;
  if (item->error == StatusCode::kOk) item->error = outcome.error;
  if (outcome.error == StatusCode::kOk && outcome.changed()) ++item->changed;
  if (item->reply == Reply::kBits && item->error == StatusCode::kOk) {
    writer_->Integer(outcome.before ? 1 : 0);
  }
  if (item->done < item->ops) return;
  if (item->error != StatusCode::kOk) {
    writer_->Truncate(item->begin);
    writer_->Error(StatusCodeError(item->error));
    return;
  }
  switch (item->reply) {
    case Reply::kBefore:
      writer_->Integer(outcome.before ? 1 : 0);
      break;
    case Reply::kChanged:
      writer_->Unsigned(item->changed);
      break;
    case Reply::kChangedCount:
      writer_->Array(2);
      writer_->Unsigned(item->changed);
      writer_->Unsigned(outcome.cardinality);
      break;
    case Reply::kBits:
      break;
    case Reply::kToggled:
      writer_->Array(3);
      writer_->Integer(outcome.after ? 1 : 0);
      writer_->Unsigned(outcome.cardinality);
      writer_->Integer(0);
      break;
  }
}

}  // namespace tallystick::server
