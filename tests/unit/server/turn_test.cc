// Proves that pipelined commands are answered in order and rightly through batches, limits of a
// turn, slow commands and failures: one real engine in a temporary directory, no sockets.
#include "server/commands/turn.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace tallystick::server {
namespace {

class NoControl : public ServerControl {
 public:
  void RequestShutdown() override { ++shutdowns; }
  void CloseClient(uint64_t) override {}
  int shutdowns = 0;
};

class TurnTest : public ::testing::Test {
 protected:
  void Open(ServerOptions options = {}) {
    Options engine_options;
    engine_options.dir = dir_ / "data";
    engine_options.shards = 4;
    engine_options.partitions = 2;
    Result<std::unique_ptr<Engine>> engine = Engine::Open(engine_options);
    ASSERT_TRUE(engine.has_value()) << engine.error().ToString();
    engine_ = std::move(*engine);
    state_ = std::make_unique<ServerState>(engine_.get(), std::move(options), &control_);
    client_.authenticated = !state_->password_required();
    state_->clients().Add(&client_);
  }
  void TearDown() override {
    if (state_ == nullptr) return;
    state_->clients().Remove(&client_);
    state_.reset();
    EXPECT_TRUE(engine_->Close().ok());
  }

  // Runs inline commands until the input is drained or the connection would be closed; the replies.
  std::string Run(const std::string& input) {
    Turn turn(state_.get());
    RequestParser parser;
    InputBuffer buffer;
    for (size_t fed = 0; fed < input.size();) {
      const InputBuffer::Room room = buffer.Reserve();
      const size_t bytes = std::min(room.size, input.size() - fed);
      std::copy_n(input.data() + fed, bytes, room.data);
      buffer.Commit(bytes);
      fed += bytes;
    }
    std::string out;
    Ticket ticket;
    turns_ = 0;
    while (true) {
      ++turns_;
      last_end_ = turn.Run(&client_, &parser, &buffer, &out, &ticket);
      EXPECT_TRUE(engine_->Wait(ticket, WaitFor::kJournal).ok());
      ticket.Clear();
      if (last_end_ == Turn::End::kSlow) {
        std::vector<FactBatch::Span> spans;
        Turn::RunSlow(state_.get(), &client_, turn.slow_request(), &out, &ticket, &spans);
        buffer.Consume(turn.slow_bytes());
        continue;
      }
      if (last_end_ != Turn::End::kMore) return out;
    }
  }

  TempDir dir_;
  NoControl control_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ServerState> state_;
  ClientState client_;
  Turn::End last_end_ = Turn::End::kNeedInput;
  int turns_ = 0;
};

TEST_F(TurnTest, ABatchAnswersInOrder) {
  Open();
  EXPECT_EQ(Run("SETBIT bm:like:article:42:1 1 1\r\nSETBIT bm:like:article:42:1 1 1\r\n"
                "GETBIT bm:like:article:42:1 1\r\nFACT.HAS like:article:42 32769\r\n"
                "FACT.ADD like:article:42 WITHCOUNT 5 5 6\r\nFACT.MHAS like:article:42 5 7 6\r\n"
                "FACT.TOGGLE like:article:42 5\r\nFACT.SET like:article:42 6 0\r\n"
                "SISMEMBER article:likes:42 32769\r\nSCARD article:likes:42\r\n"),
            ":0\r\n:1\r\n:1\r\n:1\r\n*2\r\n:2\r\n:3\r\n*3\r\n:1\r\n:0\r\n:1\r\n"
            "*3\r\n:0\r\n:2\r\n:0\r\n:1\r\n:1\r\n:1\r\n");
}

TEST_F(TurnTest, AnErrorAmongBatchedCommandsKeepsItsPlace) {
  Open();
  EXPECT_EQ(Run("SADD k 1\r\nSADD a:likes:1 x\r\nSADD k 2\r\nNOSUCH\r\nSADD k 2\r\nSETBIT "
                "k\r\nSCARD k\r\n"),
            ":1\r\n-ERR set members must be unsigned 64-bit integers in canonical decimal form\r\n"
            ":1\r\n-ERR unknown command 'NOSUCH', with args beginning with: \r\n:0\r\n"
            "-ERR wrong number of arguments for 'setbit' command\r\n:2\r\n");
}

TEST_F(TurnTest, AnErrorOfTheEngineIsOneReply) {
  Open();
  EXPECT_EQ(Run("SET k v\r\nSADD k 1 2 3\r\nSMISMEMBER k 1 2\r\nSISMEMBER k x\r\nGETBIT k 1\r\n"),
            "+OK\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
            "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
            "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n:1\r\n");
}

TEST_F(TurnTest, ACommandOfManyOperationsRunsInPieces) {
  Open();
  std::string add = "FACT.ADD like:article:1";
  std::string has = "FACT.MHAS like:article:1";
  std::string bits;
  constexpr int kUids = 3 * static_cast<int>(FactBatch::kOpsMax) + 7;
  for (int uid = 0; uid < kUids; ++uid) {
    add += " " + std::to_string(uid * 2);
    has += " " + std::to_string(uid);
    bits += uid % 2 == 0 ? ":1\r\n" : ":0\r\n";
  }
  const auto encode = [](const std::string& line) {
    std::string out;
    size_t words = 0;
    for (size_t at = 0; at <= line.size(); ++words) {
      const size_t end = std::min(line.find(' ', at), line.size());
      out += "$" + std::to_string(end - at) + "\r\n" + line.substr(at, end - at) + "\r\n";
      at = end + 1;
    }
    return "*" + std::to_string(words) + "\r\n" + out;
  };
  const std::string count = std::to_string(kUids);
  EXPECT_EQ(Run(encode(add) + encode(has) + "PING\r\n"),
            ":" + count + "\r\n*" + count + "\r\n" + bits + "+PONG\r\n");
}

TEST_F(TurnTest, ALongPipelineTakesSeveralTurns) {
  Open();
  std::string input;
  std::string expected;
  for (size_t i = 0; i < Turn::kCommandsMax * 2 + 1; ++i) {
    input += "PING\r\n";
    expected += "+PONG\r\n";
  }
  EXPECT_EQ(Run(input), expected);
  EXPECT_EQ(turns_, 3);
}

TEST_F(TurnTest, SlowCommandsKeepTheirPlace) {
  Open();
  EXPECT_EQ(Run("SADD a 1\r\nKEYS *\r\nDBSIZE\r\nSADD a 2\r\nCOUNT.SYNC\r\nSCARD a\r\n"),
            ":1\r\n*1\r\n$1\r\na\r\n:1\r\n:1\r\n+OK\r\n:2\r\n");
}

TEST_F(TurnTest, NothingRunsBeforeAuthentication) {
  ServerOptions options;
  options.requirepass = "secret";
  Open(options);
  EXPECT_EQ(Run("SET k v\r\nGET k\r\nNOSUCH\r\nAUTH wrong\r\nAUTH secre\r\nAUTH secrets\r\n"
                "AUTH secret\r\nGET k\r\n"),
            "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n"
            "-ERR unknown command 'NOSUCH', with args beginning with: \r\n"
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
            "+OK\r\n$-1\r\n");
  EXPECT_EQ(Run("RESET\r\nGET k\r\n"), "+RESET\r\n-NOAUTH Authentication required.\r\n");
}

TEST_F(TurnTest, HttpAndQuitClose) {
  Open();
  EXPECT_EQ(Run("POST / HTTP/1.1\r\nPING\r\n"), "");
  EXPECT_EQ(last_end_, Turn::End::kClose);
  EXPECT_EQ(Run("Host: x\r\n"), "");
  EXPECT_EQ(last_end_, Turn::End::kClose);
  EXPECT_EQ(Run("QUIT\r\nPING\r\n"), "+OK\r\n");
  EXPECT_EQ(last_end_, Turn::End::kClose);
  EXPECT_EQ(Run("SHUTDOWN NOSAVE\r\n"), "");
  EXPECT_EQ(control_.shutdowns, 1);
}

TEST_F(TurnTest, HelloPicksTheProtocol) {
  Open();
  EXPECT_EQ(Run("HELLO 3\r\n").substr(0, 4), "%8\r\n");
  EXPECT_EQ(Run("GET none\r\nSADD s 1\r\nSMEMBERS s\r\n"), "_\r\n:1\r\n~1\r\n$1\r\n1\r\n");
  EXPECT_EQ(Run("HELLO 2\r\nGET none\r\n").substr(0, 5), "*16\r\n");
  EXPECT_EQ(Run("HELLO 4\r\nHELLO x\r\n"),
            "-NOPROTO unsupported protocol version\r\n"
            "-ERR Protocol version is not an integer or out of range\r\n");
}

TEST_F(TurnTest, APlainKeyUnderALikesNameIsFoundAgainAfterARestart) {
  Open();
  EXPECT_EQ(Run("SET user:likes:page json\r\nSADD user:likes:page 1\r\nGET user:likes:page\r\n"
                "TYPE user:likes:page\r\nKEYS user:likes:*\r\nDBSIZE\r\n"),
            "+OK\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
            "$4\r\njson\r\n+string\r\n*1\r\n$15\r\nuser:likes:page\r\n:1\r\n");
  state_->clients().Remove(&client_);
  state_.reset();
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  Open();
  EXPECT_EQ(
      Run("SADD user:likes:page 1\r\nDEL user:likes:page\r\nSADD user:likes:page 1\r\n"
          "TYPE user:likes:page\r\nSET user:likes:page v\r\n"),
      "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n:1\r\n:1\r\n+set\r\n"
      "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
}

TEST_F(TurnTest, TypeOfALikesKeyIsThatOfItsFirstWrite) {
  Open();
  EXPECT_EQ(
      Run("SETBIT a:likes:1 9 1\r\nSADD a:likes:1 8\r\nTYPE a:likes:1\r\nSADD a:likes:2 8\r\n"
          "SETBIT a:likes:2 9 1\r\nTYPE a:likes:2\r\nBITCOUNT a:likes:2\r\nSTRLEN a:likes:2\r\n"),
      ":0\r\n:1\r\n+string\r\n:1\r\n:0\r\n+set\r\n:2\r\n:2\r\n");
}

TEST_F(TurnTest, SetOnAChunkWritesItsBits) {
  Open();
  EXPECT_EQ(
      Run("SETBIT bm:like:a:1:0 0 1\r\nSET bm:like:a:1:0 \"\\x41\"\r\nGET bm:like:a:1:0\r\n"
          "FACT.CARD like:a:1\r\nFACT.SCAN like:a:1 0\r\nDEL bm:like:a:1:0\r\nGET "
          "bm:like:a:1:0\r\n"),
      ":0\r\n+OK\r\n$1\r\nA\r\n:2\r\n*2\r\n$1\r\n0\r\n*2\r\n$1\r\n1\r\n$1\r\n7\r\n:1\r\n$-1\r\n");
}

TEST_F(TurnTest, CountsOfTheUnknownAreZerosThatDoNotExist) {
  Open();
  EXPECT_EQ(
      Run("STRLEN cnt:v1:a:1\r\nEXISTS cnt:v1:a:1\r\nTYPE sds:a:1\r\nSET cnt:v1:a:1 x\r\n"
          "EXISTS cnt:v1:a:1\r\nDEL cnt:v1:a:1\r\nCOUNT.GET a:1\r\nCOUNT.GET a:1 view like\r\n"),
      ":20\r\n:0\r\n+none\r\n+OK\r\n:0\r\n:0\r\n*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n*2\r\n:0\r\n:"
      "0\r\n");
  EXPECT_EQ(Run("COUNT.INCRBY a:1 view 5\r\nCOUNT.INCRBY a:1 like 5\r\nCOUNT.INCRBY a:1 x 5\r\n")
                .substr(0, 9),
            ":5\r\n-ERR ");
}

TEST_F(TurnTest, ScanCursorsFit53BitsAndMissNothing) {
  Open();
  std::string input;
  for (uint64_t uid :
       std::vector<uint64_t>{0, 1, 2047, 2048, uint64_t{1} << 40, UINT64_MAX - 1, UINT64_MAX}) {
    input += "FACT.ADD like:a:1 " + std::to_string(uid) + "\r\n";
  }
  Run(input);
  std::string cursor = "0";
  std::vector<std::string> seen;
  do {
    const std::string page = Run("FACT.SCAN like:a:1 " + cursor + " COUNT 1\r\n");
    std::vector<std::string> lines;
    for (size_t at = 0; at < page.size();) {
      const size_t end = page.find("\r\n", at);
      lines.push_back(page.substr(at, end - at));
      at = end + 2;
    }
    cursor = lines[2];
    EXPECT_LE(std::stoull(cursor), (1ull << 53) - 1);
    for (size_t i = 5; i < lines.size(); i += 2) seen.push_back(lines[i]);
  } while (cursor != "0");
  EXPECT_EQ(seen, (std::vector<std::string>{"0", "1", "2047", "2048", "1099511627776",
                                            "18446744073709551614", "18446744073709551615"}));
}

TEST(FailWrites, RewritesTheRepliesOfWritesOnly) {
  std::string out = "+earlier\r\n:1\r\n$2\r\nok\r\n:0\r\n";
  const std::vector<FactBatch::Span> spans = {{10, true}, {14, false}, {22, true}};
  FailWrites(Status::Error(StatusCode::kReadOnly, "journal failed"), spans, &out);
  EXPECT_EQ(out, "+earlier\r\n-MISCONF journal failed\r\n$2\r\nok\r\n-MISCONF journal failed\r\n");
}

}  // namespace
}  // namespace tallystick::server
