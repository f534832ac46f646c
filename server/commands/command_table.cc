// Over 200 lines because it is one table.
#include "server/commands/command_table.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "server/commands/handlers.h"
#include "server/resp/number.h"

namespace tallystick::server {

namespace {

constexpr uint32_t kAnyTime = kLoadingOk | kStale;
constexpr uint32_t kFactRead = kReadonly | kFast | kBatch;
constexpr uint32_t kFactWrite = kWrite | kDenyOom | kFast | kBatch;
constexpr uint32_t kClientFlags = kNoScript | kAnyTime;
constexpr std::string_view kO1 = "O(1)";
constexpr std::string_view kON = "O(N)";

// Sorted by name (checked at start).
constexpr auto kCommands = std::to_array<CommandSpec>({
    {"auth", Auth, -2, kNoScript | kAnyTime | kFast | kNoAuth, 0, 0, 0, Group::kConnection, "1.0.0",
     kO1, "[username] password", "Authenticates the connection"},
    {"bitcount", BitCount, -2, kReadonly, 1, 1, 1, Group::kBitmap, "2.6.0",
     "O(1) for whole keys, O(chunks) for ranges", "key [start end [BYTE|BIT]]",
     "Counts the set bits of a key"},
    {"bitfield", BitField, -2, kWrite | kDenyOom, 1, 1, 1, Group::kBitmap, "3.2.0",
     "O(1) for each operation",
     "key [GET encoding offset | [OVERFLOW WRAP|SAT|FAIL] SET|INCRBY encoding offset value ...]",
     "Reads, sets and increments integers of any width within the bits of a key"},
    {"bitfield_ro", BitFieldRo, -2, kReadonly | kFast, 1, 1, 1, Group::kBitmap, "6.0.0",
     "O(1) for each operation", "key [GET encoding offset ...]",
     "Reads integers of any width within the bits of a key"},
    {"bitop", BitOperation, -4, kWrite | kDenyOom | kTargetFirst, 2, -1, 1, Group::kBitmap, "2.6.0",
     "O(bytes of all sources)", "AND|OR|XOR|NOT destination key [key ...]",
     "Combines the bits of keys into another; returns the length of the result in bytes"},
    {"bitpos", BitPos, -3, kReadonly, 1, 1, 1, Group::kBitmap, "2.8.7", "O(log chunks)",
     "key 0|1 [start [end [BYTE|BIT]]]", "Finds the first bit that is set or clear"},
    {"client", nullptr, -2, 0, 0, 0, 0, Group::kConnection, "2.4.0", "Depends on subcommand.",
     "subcommand", "A container for client connection commands"},
    {"client|getname", ClientGetName, 2, kClientFlags, 0, 0, 0, Group::kConnection, "2.6.9", kO1,
     "", "Returns the name of the connection"},
    {"client|help", SubcommandHelp, 2, kAnyTime, 0, 0, 0, Group::kConnection, "5.0.0", kO1, "",
     "Lists the subcommands"},
    {"client|id", ClientId, 2, kClientFlags, 0, 0, 0, Group::kConnection, "5.0.0", kO1, "",
     "Returns the unique id of the connection"},
    {"client|info", ClientInfo, 2, kClientFlags, 0, 0, 0, Group::kConnection, "6.2.0", kO1, "",
     "Describes the current connection"},
    {"client|kill", ClientKill, -3, kAdmin | kClientFlags, 0, 0, 0, Group::kConnection, "2.4.0",
     kON, "address | [ID id] [ADDR address] [LADDR address] [SKIPME yes|no]", "Closes connections"},
    {"client|list", ClientList, -2, kAdmin | kClientFlags, 0, 0, 0, Group::kConnection, "2.4.0",
     kON, "[TYPE type] [ID id ...]", "Lists the open connections"},
    {"client|no-evict", ClientNoEvict, 3, kAdmin | kClientFlags, 0, 0, 0, Group::kConnection,
     "7.0.0", kO1, "ON|OFF", "Accepted; clients are never evicted here"},
    {"client|no-touch", ClientNoEvict, 3, kClientFlags, 0, 0, 0, Group::kConnection, "7.2.0", kO1,
     "ON|OFF", "Accepted; access times of keys are not kept here"},
    {"client|setinfo", ClientSetInfo, 4, kClientFlags, 0, 0, 0, Group::kConnection, "7.2.0", kO1,
     "LIB-NAME name | LIB-VER version", "Sets the client library's name or version"},
    {"client|setname", ClientSetName, 3, kClientFlags, 0, 0, 0, Group::kConnection, "2.6.9", kO1,
     "name", "Sets the name of the connection"},
    {"command", Command, -1, kAnyTime, 0, 0, 0, Group::kServer, "2.8.13", kON, "",
     "Describes all commands"},
    {"command|count", CommandCount, 2, kAnyTime, 0, 0, 0, Group::kServer, "2.8.13", kO1, "",
     "Counts the commands"},
    {"command|docs", CommandDocs, -2, kAnyTime, 0, 0, 0, Group::kServer, "7.0.0", kON, "[name ...]",
     "Documents commands"},
    {"command|getkeys", CommandGetKeys, -4, kAnyTime, 0, 0, 0, Group::kServer, "2.8.13", kON,
     "command argument [argument ...]", "Extracts the keys of a command"},
    {"command|help", SubcommandHelp, 2, kAnyTime, 0, 0, 0, Group::kServer, "5.0.0", kO1, "",
     "Lists the subcommands"},
    {"command|info", CommandInfo, -2, kAnyTime, 0, 0, 0, Group::kServer, "2.8.13", kON,
     "[name ...]", "Describes commands"},
    {"command|list", CommandList, -2, kAnyTime, 0, 0, 0, Group::kServer, "7.0.0", kON,
     "[FILTERBY MODULE name | ACLCAT category | PATTERN pattern]", "Lists the names of commands"},
    {"config", nullptr, -2, 0, 0, 0, 0, Group::kServer, "2.0.0", "Depends on subcommand.",
     "subcommand", "A container for configuration commands"},
    {"config|get", ConfigGet, -3, kAdmin | kNoScript | kAnyTime, 0, 0, 0, Group::kServer, "2.0.0",
     kON, "pattern [pattern ...]", "Reads settings"},
    {"config|help", SubcommandHelp, 2, kAnyTime, 0, 0, 0, Group::kServer, "5.0.0", kO1, "",
     "Lists the subcommands"},
    {"config|resetstat", ConfigResetStat, 2, kAdmin | kNoScript | kAnyTime, 0, 0, 0, Group::kServer,
     "2.0.0", kO1, "", "Resets the counters of INFO"},
    {"config|set", ConfigSet, -4, kAdmin | kNoScript | kAnyTime, 0, 0, 0, Group::kServer, "2.0.0",
     kON, "name value [name value ...]", "Changes settings that may change while running"},
    {"count.get", CountGet, -2, kReadonly | kFast, 0, 0, 0, Group::kCount, "0.1.0", kO1,
     "entity [WITHMETA] [slot ...]", "Counts of one entity, in slot order"},
    {"count.incrby", CountIncrBy, 4, kWrite | kDenyOom | kFast, 0, 0, 0, Group::kCount, "0.1.0",
     kO1, "entity slot delta", "Adds to the counter part of a slot; returns the slot's new value"},
    {"count.mget", CountMGet, -3, kReadonly | kFast, 0, 0, 0, Group::kCount, "0.1.0", kON,
     "[SLOTS n slot ...] ENTITIES entity [entity ...]", "Counts of many entities"},
    {"count.raw", CountRaw, 2, kReadonly | kFast, 0, 0, 0, Group::kCount, "0.1.0", kO1, "entity",
     "The count record: big-endian slots"},
    {"count.rebuild", CountRebuild, 2, kWrite | kSlow, 0, 0, 0, Group::kCount, "0.1.0",
     "O(members)", "entity", "Counts an entity anew from its facts; returns old and new counts"},
    {"count.sync", CountSync, -1, kReadonly | kSlow | kBlocking, 0, 0, 0, Group::kCount, "0.1.0",
     kON, "[TIMEOUT ms] [entity ...]",
     "Waits until every earlier acknowledged change is folded and its record written"},
    {"count.verify", CountVerify, 2, kReadonly | kSlow, 0, 0, 0, Group::kCount, "0.1.0",
     "O(members)", "entity", "Proves that record + pending = facts + counter part"},
    {"dbsize", DbSize, 1, kReadonly | kSlow, 0, 0, 0, Group::kServer, "1.0.0", "O(keys)", "",
     "Counts the keys that KEYS * would list"},
    {"del", Del, -2, kWrite, 1, -1, 1, Group::kGeneric, "1.0.0", "O(members)", "key [key ...]",
     "Deletes keys; the facts of a face are cleared"},
    {"echo", Echo, 2, kLoadingOk | kStale | kFast, 0, 0, 0, Group::kConnection, "1.0.0", kO1,
     "message", "Returns the message"},
    {"exists", Exists, -2, kReadonly | kFast, 1, -1, 1, Group::kGeneric, "1.0.0", kON,
     "key [key ...]", "Counts the given keys that exist"},
    {"fact.add", FactAdd, -3, kFactWrite, 1, 1, 1, Group::kFact, "0.1.0", kON,
     "key [WITHCOUNT] uid [uid ...]", "Sets facts; number changed, or [changed, count]"},
    {"fact.card", FactCard, 2, kReadonly | kFast, 1, 1, 1, Group::kFact, "0.1.0", kO1, "key",
     "Number of facts in a set"},
    {"fact.diff", FactDiff, -3, kReadonly | kMovableKeys, 0, 0, 0, Group::kFact, "0.1.0",
     "O(members of the first set)", "numkeys key [key ...] [LIMIT n]",
     "Uids of the first set that are in none of the others, ascending"},
    {"fact.export", FactExport, -2, kReadonly, 1, 1, 1, Group::kFact, "0.1.0", kON,
     "key [CURSOR cursor [BYTES n]]",
     "The uids of a set as a portable 64-bit roaring bitmap; with CURSOR a part of them and the "
     "next cursor"},
    {"fact.has", FactHas, 3, kFactRead, 1, 1, 1, Group::kFact, "0.1.0", kO1, "key uid",
     "Whether a fact is set"},
    {"fact.import", FactImport, -3, kWrite | kDenyOom, 1, 1, 1, Group::kFact, "0.1.0", kON,
     "key bitmap [REPLACE]",
     "Sets the facts of a portable 64-bit roaring bitmap, and with REPLACE clears all others, as "
     "one change; [set, cleared]"},
    {"fact.inter", FactInter, -3, kReadonly | kMovableKeys, 0, 0, 0, Group::kFact, "0.1.0",
     "O(members of the smallest set)", "numkeys key [key ...] [LIMIT n]",
     "Uids that are in all sets, ascending"},
    {"fact.intercard", FactInterCard, -3, kReadonly | kMovableKeys, 0, 0, 0, Group::kFact, "0.1.0",
     "O(members of the smallest set)", "numkeys key [key ...] [LIMIT n]",
     "How many uids are in all sets, n at most"},
    {"fact.mhas", FactMHas, -3, kFactRead, 1, 1, 1, Group::kFact, "0.1.0", kON, "key uid [uid ...]",
     "Whether facts are set, one 0 or 1 each"},
    {"fact.rem", FactRem, -3, kWrite | kFast | kBatch, 1, 1, 1, Group::kFact, "0.1.0", kON,
     "key [WITHCOUNT] uid [uid ...]", "Clears facts; number changed, or [changed, count]"},
    {"fact.scan", FactScan, -3, kReadonly, 1, 1, 1, Group::kFact, "0.1.0", "O(COUNT)",
     "key cursor [COUNT n]", "Walks the uids of a set, ascending; stable under change"},
    {"fact.set", FactSet, 4, kFactWrite, 1, 1, 1, Group::kFact, "0.1.0", kO1, "key uid 0|1",
     "Sets or clears a fact; returns the previous bit"},
    {"fact.stat", FactStat, 2, kReadonly, 1, 1, 1, Group::kFact, "0.1.0", "O(chunks)", "key",
     "Cardinality, containers, bytes and sequence of a set"},
    {"fact.toggle", FactToggle, 3, kFactWrite, 1, 1, 1, Group::kFact, "0.1.0", kO1, "key uid",
     "Flips a fact; [state, count, debounced], where debounced is always 0"},
    {"fact.union", FactUnion, -3, kReadonly | kMovableKeys, 0, 0, 0, Group::kFact, "0.1.0",
     "O(members of all sets)", "numkeys key [key ...] [LIMIT n]",
     "Uids that are in any of the sets, ascending"},
    {"flushall", FlushAll, -1, kWrite | kSlow, 0, 0, 0, Group::kServer, "1.0.0", "O(data)",
     "[ASYNC|SYNC]", "Removes all facts, counts and plain keys"},
    {"flushdb", FlushAll, -1, kWrite | kSlow, 0, 0, 0, Group::kServer, "1.0.0", "O(data)",
     "[ASYNC|SYNC]", "As FLUSHALL: there is one database"},
    {"get", Get, 2, kReadonly | kFast, 1, 1, 1, Group::kString, "1.0.0", kO1, "key",
     "Value of a string key, record of a count key, bytes of a bitmap"},
    {"getbit", GetBit, 3, kFactRead, 1, 1, 1, Group::kBitmap, "2.2.0", kO1, "key offset",
     "Reads one bit"},
    {"hello", Hello, -1, kNoScript | kAnyTime | kFast | kNoAuth, 0, 0, 0, Group::kConnection,
     "6.0.0", kO1, "[protover [AUTH username password] [SETNAME name]]",
     "Handshake: picks RESP2 or RESP3"},
    {"host:", HttpRequest, -1, kNoScript | kAnyTime | kNoAuth, 0, 0, 0, Group::kConnection, "0.1.0",
     kO1, "", "Not a command: a line of HTTP, closes the connection"},
    {"info", Info, -1, kAnyTime, 0, 0, 0, Group::kServer, "1.0.0", kO1, "[section ...]",
     "Describes the server"},
    {"keys", Keys, 2, kReadonly | kSlow, 0, 0, 0, Group::kGeneric, "1.0.0",
     "O(keys), or O(matches) when the pattern spells out one entity", "pattern",
     "Lists the keys that match"},
    {"mget", MGet, -2, kReadonly | kFast, 1, -1, 1, Group::kString, "1.0.0", kON, "key [key ...]",
     "Values of many keys"},
    {"ping", Ping, -1, kFast, 0, 0, 0, Group::kConnection, "1.0.0", kO1, "[message]",
     "Returns PONG or the message"},
    {"post", HttpRequest, -1, kNoScript | kAnyTime | kNoAuth, 0, 0, 0, Group::kConnection, "0.1.0",
     kO1, "", "Not a command: a line of HTTP, closes the connection"},
    {"pttl", Pttl, 2, kReadonly | kFast, 1, 1, 1, Group::kGeneric, "2.6.0", kO1, "key",
     "Milliseconds until a key expires"},
    {"quit", Quit, -1, kNoScript | kAnyTime | kFast | kNoAuth, 0, 0, 0, Group::kConnection, "1.0.0",
     kO1, "", "Closes the connection"},
    {"reset", Reset, 1, kNoScript | kAnyTime | kFast | kNoAuth, 0, 0, 0, Group::kConnection,
     "6.2.0", kO1, "", "Returns the connection to how it was when opened"},
    {"sadd", SAdd, -3, kFactWrite, 1, 1, 1, Group::kSet, "1.0.0", kON, "key member [member ...]",
     "Adds members to a set"},
    {"scan", Scan, -2, kReadonly, 0, 0, 0, Group::kGeneric, "2.8.0", "O(COUNT)",
     "cursor [MATCH pattern] [COUNT n] [TYPE type]", "Walks the keys"},
    {"scard", SCard, 2, kReadonly | kFast, 1, 1, 1, Group::kSet, "1.0.0", kO1, "key",
     "Number of members of a set"},
    {"sdiff", SDiff, -2, kReadonly, 1, -1, 1, Group::kSet, "1.0.0", "O(members of the first set)",
     "key [key ...]", "Members of the first set that are in none of the others"},
    {"sdiffstore", SDiffStore, -3, kWrite | kDenyOom | kTargetFirst, 1, -1, 1, Group::kSet, "1.0.0",
     "O(members of the first set)", "destination key [key ...]",
     "Stores the difference of sets; returns its number of members"},
    {"select", Select, 2, kLoadingOk | kStale | kFast, 0, 0, 0, Group::kConnection, "1.0.0", kO1,
     "index", "Accepts database 0, the only one"},
    {"set", Set, -3, kWrite | kDenyOom, 1, 1, 1, Group::kString, "1.0.0", kO1,
     "key value [NX|XX] [GET] [EX seconds|PX ms|EXAT time|PXAT time-ms|KEEPTTL]",
     "Sets a string key, or the bits of a chunk"},
    {"setbit", SetBit, 4, kFactWrite, 1, 1, 1, Group::kBitmap, "2.2.0", kO1, "key offset 0|1",
     "Sets or clears one bit; returns the previous bit"},
    {"shutdown", Shutdown, -1, kAdmin | kNoScript | kAnyTime, 0, 0, 0, Group::kServer, "1.0.0",
     "O(dirty)", "[NOSAVE|SAVE] [NOW] [FORCE]", "Writes everything and stops the server"},
    {"sinter", SInter, -2, kReadonly, 1, -1, 1, Group::kSet, "1.0.0",
     "O(members of the smallest set)", "key [key ...]", "Members that are in all sets"},
    {"sintercard", SInterCard, -3, kReadonly | kMovableKeys, 0, 0, 0, Group::kSet, "7.0.0",
     "O(members of the smallest set)", "numkeys key [key ...] [LIMIT n]",
     "How many members are in all sets, n at most"},
    {"sinterstore", SInterStore, -3, kWrite | kDenyOom | kTargetFirst, 1, -1, 1, Group::kSet,
     "1.0.0", "O(members of the smallest set)", "destination key [key ...]",
     "Stores the intersection of sets; returns its number of members"},
    {"sismember", SIsMember, 3, kFactRead, 1, 1, 1, Group::kSet, "1.0.0", kO1, "key member",
     "Whether a member is in a set"},
    {"smembers", SMembers, 2, kReadonly, 1, 1, 1, Group::kSet, "1.0.0", kON, "key",
     "All members of a set"},
    {"smismember", SMIsMember, -3, kFactRead, 1, 1, 1, Group::kSet, "6.2.0", kON,
     "key member [member ...]", "Whether members are in a set, one 0 or 1 each"},
    {"smove", SMove, 4, kWrite | kFast, 1, 2, 1, Group::kSet, "1.0.0", kO1,
     "source destination member", "Moves a member from one set to another"},
    {"spop", SPop, -2, kWrite | kFast, 1, 1, 1, Group::kSet, "1.0.0", "O(count)", "key [count]",
     "Removes and returns random members"},
    {"srandmember", SRandMember, -2, kReadonly, 1, 1, 1, Group::kSet, "1.0.0", "O(count)",
     "key [count]", "Random members: different ones, or |count| that may repeat"},
    {"srem", SRem, -3, kWrite | kFast | kBatch, 1, 1, 1, Group::kSet, "1.0.0", kON,
     "key member [member ...]", "Removes members from a set"},
    {"sscan", SScan, -3, kReadonly, 1, 1, 1, Group::kSet, "2.8.0", "O(COUNT)",
     "key cursor [MATCH pattern] [COUNT n]", "Walks the members of a set"},
    {"strlen", StrLen, 2, kReadonly | kFast, 1, 1, 1, Group::kString, "2.2.0", kO1, "key",
     "Length of a string key in bytes"},
    {"sunion", SUnion, -2, kReadonly, 1, -1, 1, Group::kSet, "1.0.0", "O(members of all sets)",
     "key [key ...]", "Members that are in any of the sets"},
    {"sunionstore", SUnionStore, -3, kWrite | kDenyOom | kTargetFirst, 1, -1, 1, Group::kSet,
     "1.0.0", "O(members of all sets)", "destination key [key ...]",
     "Stores the union of sets; returns its number of members"},
    {"time", Time, 1, kAnyTime | kFast, 0, 0, 0, Group::kServer, "2.6.0", kO1, "",
     "Seconds and microseconds of the server's clock"},
    {"touch", Exists, -2, kReadonly | kFast, 1, -1, 1, Group::kGeneric, "3.2.1", kON,
     "key [key ...]", "Counts the given keys that exist"},
    {"ttl", Ttl, 2, kReadonly | kFast, 1, 1, 1, Group::kGeneric, "1.0.0", kO1, "key",
     "Seconds until a key expires; -1: never, -2: no such key"},
    {"type", Type, 2, kReadonly | kFast, 1, 1, 1, Group::kGeneric, "1.0.0", kO1, "key",
     "Type of a key"},
    {"unlink", Del, -2, kWrite | kFast, 1, -1, 1, Group::kGeneric, "4.0.0", "O(members)",
     "key [key ...]", "As DEL"},
});

constexpr size_t kNameBytesLimit = 32;  // longer names are no command
constexpr size_t kBuckets = 512;        // power of two, several times the number of commands

// 64-bit FNV-1a over the lower-case name; names are short, so this beats anything cleverer.
constexpr size_t HashName(std::string_view lower) {
  uint64_t hash = 14695981039346656037ull;
  for (char c : lower) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return (hash ^ (hash >> 32)) & (kBuckets - 1);
}

// Open addressing with linear probing; values are index + 1, 0 is empty.
struct NameIndex {
  std::array<uint8_t, kBuckets> slots{};
  constexpr NameIndex() {
    static_assert(kCommands.size() < 255);
    for (size_t i = 0; i < kCommands.size(); ++i) {
      size_t at = HashName(kCommands[i].name);
      while (slots[at] != 0) at = (at + 1) & (kBuckets - 1);
      slots[at] = static_cast<uint8_t>(i + 1);
    }
  }
};
constexpr NameIndex kIndex;

static_assert(std::is_sorted(kCommands.begin(), kCommands.end(),
                             [](const CommandSpec& a, const CommandSpec& b) {
                               return a.name < b.name;
                             }));

// Lowers the parts into buffer, joined by '|' when there are two; empty when they do not fit.
std::string_view LowerName(std::string_view name, std::string_view sub,
                           std::array<char, kNameBytesLimit>* buffer) {
  const size_t length = name.size() + (sub.empty() ? 0 : sub.size() + 1);
  if (length > buffer->size()) return {};
  char* out = buffer->data();
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  out = std::transform(name.begin(), name.end(), out, lower);
  if (!sub.empty()) {
    *out++ = '|';
    std::transform(sub.begin(), sub.end(), out, lower);
  }
  return {buffer->data(), length};
}

const CommandSpec* Find(std::string_view lower) {
  if (lower.empty()) return nullptr;
  for (size_t at = HashName(lower); kIndex.slots[at] != 0; at = (at + 1) & (kBuckets - 1)) {
    const CommandSpec& spec = kCommands[kIndex.slots[at] - 1u];
    if (spec.name == lower) return &spec;
  }
  return nullptr;
}

}  // namespace

std::span<const CommandSpec> Commands() {
  return kCommands;
}

bool IsContainer(const CommandSpec& spec) {
  return spec.handler == nullptr || spec.name == "command";
}

bool IsSubcommand(const CommandSpec& spec) {
  return spec.name.find('|') != std::string_view::npos;
}

const CommandSpec* FindCommandByName(std::string_view name) {
  std::array<char, kNameBytesLimit> buffer;
  return Find(LowerName(name, {}, &buffer));
}

CommandMatch FindCommand(std::span<const std::string_view> args) {
  assert(!args.empty());
  CommandMatch match;
  match.spec = FindCommandByName(args[0]);
  if (match.spec == nullptr) return match;
  if (IsSubcommand(*match.spec)) {  // "client|id" is no name that a client may send
    match.spec = nullptr;
    return match;
  }
  if (!IsContainer(*match.spec) || args.size() < 2) return match;
  match.container = match.spec;
  std::array<char, kNameBytesLimit> buffer;
  // An empty subcommand must not find the container itself.
  match.spec = args[1].empty() ? nullptr : Find(LowerName(args[0], args[1], &buffer));
  return match;
}

bool ArityFits(const CommandSpec& spec, size_t argc) {
  const int count = static_cast<int>(argc);
  return spec.arity >= 0 ? count == spec.arity : count >= -spec.arity;
}

}  // namespace tallystick::server
