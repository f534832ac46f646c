// A server of the commands that a replay uses, on std::set: the model that replays are tested with.
// It can refuse with BUSY, close after a number of commands, and drift.
#pragma once

#include "tests/unit/tools/scripted_server.h"
#include "tools/cli/resp_reply.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

class ModelServer {
 public:
  struct Behaviour {
    int busy_every = 0;           // every n-th write is refused; 0: none
    int close_after = 0;          // commands, then the connection goes; 0: never
    std::string drifting_key;     // its count record is one too high
    std::set<std::string> slots;  // the only ones that exist; empty: all do
  };

  explicit ModelServer(Behaviour behaviour)
      : behaviour_(std::move(behaviour)),
        server_([this](ScriptedServer::Connection& connection) { Serve(connection); }) {}
  uint16_t port() const { return server_.port(); }

 private:
  using Words = std::vector<std::string>;

  void Serve(ScriptedServer::Connection& connection) {
    RespReplyParser parser;  // a command is an array of bulk strings, as some replies are
    int commands = 0;
    while (true) {
      const std::string bytes = connection.ReadSome();
      if (bytes.empty()) return;
      parser.Feed(bytes);
      RespReply command;
      std::string out;
      while (parser.Next(&command).value()) {
        if (behaviour_.close_after != 0 && ++commands > behaviour_.close_after) {
          connection.Send(out);
          return;
        }
        Words words;
        for (const RespReply& word : command.items) words.push_back(word.text);
        out += Answer(words);
      }
      connection.Send(out);
    }
  }

  std::string Answer(const Words& words) {
    const std::string& name = words[0];
    if (name == "FACT.ADD" || name == "FACT.REM") return Write(words, name == "FACT.ADD");
    if (name == "FACT.CARD") return Integer(Card(words[1]));
    if (name == "FACT.SCAN") return Scan(words);
    if (name == "COUNT.SYNC") return "+OK\r\n";
    if (name == "COUNT.GET") return SlotExists(words[2]) ? "*1\r\n:0\r\n" : "-ERR no such slot\r\n";
    if (name == "COUNT.MGET") {  // COUNT.MGET SLOTS 1 slot ENTITIES entity ...
      std::string out = "*" + std::to_string(words.size() - 5) + "\r\n";
      for (size_t i = 5; i < words.size(); ++i) {
        const std::string key = words[3] + ":" + words[i];
        out += "*1\r\n" + Integer(Card(key) + (key == behaviour_.drifting_key ? 1 : 0));
      }
      return out;
    }
    return "-ERR unknown command\r\n";
  }

  std::string Write(const Words& words, bool add) {
    if (behaviour_.busy_every != 0 && ++writes_ % behaviour_.busy_every == 0) {
      return "-BUSY the ring is full\r\n";
    }
    int64_t changed = 0;
    std::set<uint64_t>& set = sets_[words[1]];
    for (size_t i = 2; i < words.size(); ++i) {
      const uint64_t uid = std::stoull(words[i]);
      changed += static_cast<int64_t>(add ? set.insert(uid).second : set.erase(uid) == 1);
    }
    return Integer(changed);
  }

  std::string Scan(const Words& words) {  // FACT.SCAN key cursor COUNT n
    const std::set<uint64_t>& set = sets_[words[1]];
    size_t left = std::stoull(words[4]);
    std::string cursor = "0";
    std::string uids;
    size_t n = 0;
    for (auto it = set.lower_bound(std::stoull(words[2])); it != set.end(); ++it) {
      if (left-- == 0) {
        cursor = std::to_string(*it);
        break;
      }
      uids += Bulk(std::to_string(*it));
      ++n;
    }
    return "*2\r\n" + Bulk(cursor) + "*" + std::to_string(n) + "\r\n" + uids;
  }

  bool SlotExists(const std::string& slot) const {
    return behaviour_.slots.empty() || behaviour_.slots.contains(slot);
  }
  int64_t Card(const std::string& key) { return static_cast<int64_t>(sets_[key].size()); }
  static std::string Integer(int64_t value) { return ":" + std::to_string(value) + "\r\n"; }
  static std::string Bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }

  const Behaviour behaviour_;
  int writes_ = 0;
  std::map<std::string, std::set<uint64_t>> sets_;
  ScriptedServer server_;  // last: its thread uses the rest
};

}  // namespace tallystick
