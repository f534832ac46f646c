// Cell: what a client may expect of one value that it alone writes. Pure.
//
// A cell's owner sends its operations in order on one connection, so after a crash the server may
// have done any prefix of those that it did not answer, and must have done all that it did answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>

namespace tallystick::test {

struct CellOp {
  enum class Kind : uint8_t { kSet, kAdd, kToggle } kind = Kind::kSet;
  int64_t operand = 0;

  int64_t ApplyTo(int64_t value) const {
    if (kind == Kind::kSet) return operand;
    if (kind == Kind::kAdd) return value + operand;
    return 1 - value;
  }
};

class Cell {
 public:
  int64_t acknowledged() const { return acknowledged_; }
  bool in_doubt() const { return !pending_.empty(); }

  void Send(CellOp op) { pending_.push_back(op); }
  // The oldest operation was answered: it is done. Returns the value after it.
  int64_t Acknowledge() {
    acknowledged_ = pending_.front().ApplyTo(acknowledged_);
    pending_.pop_front();
    return acknowledged_;
  }
  // The oldest operation was refused: it changed nothing.
  void Refuse() { pending_.pop_front(); }

  bool Allows(int64_t observed) const {
    int64_t value = acknowledged_;
    if (value == observed) return true;
    return std::any_of(pending_.begin(), pending_.end(), [&](const CellOp& op) {
      value = op.ApplyTo(value);
      return value == observed;
    });
  }
  // After a crash: what was read is the truth from here on.
  void Resolve(int64_t observed) {
    acknowledged_ = observed;
    pending_.clear();
  }
  // For the canary: believes in a write that was never sent.
  void PretendAcknowledged(int64_t value) { acknowledged_ = value; }

  std::string Describe() const {
    std::string text = "acknowledged " + std::to_string(acknowledged_) + ", unanswered [";
    int64_t value = acknowledged_;
    for (const CellOp& op : pending_) {
      value = op.ApplyTo(value);
      text += " " + std::to_string(value);
    }
    return text + " ]";
  }

 private:
  int64_t acknowledged_ = 0;
  std::deque<CellOp> pending_;
};

}  // namespace tallystick::test
