// The handlers that the command table names, one family per .cc file. See Handler in command.h.
#pragma once

#include "server/commands/command.h"

namespace tallystick::server {

// connection.cc
Flow Ping(CommandContext& c);
Flow Echo(CommandContext& c);
Flow Hello(CommandContext& c);
Flow Auth(CommandContext& c);
Flow Select(CommandContext& c);
Flow Quit(CommandContext& c);
Flow Reset(CommandContext& c);
Flow HttpRequest(CommandContext& c);
// client.cc
Flow ClientId(CommandContext& c);
Flow ClientSetName(CommandContext& c);
Flow ClientGetName(CommandContext& c);
Flow ClientSetInfo(CommandContext& c);
Flow ClientList(CommandContext& c);
Flow ClientInfo(CommandContext& c);
Flow ClientKill(CommandContext& c);
Flow ClientNoEvict(CommandContext& c);
// server.cc
Flow Info(CommandContext& c);
Flow ConfigGet(CommandContext& c);
Flow ConfigSet(CommandContext& c);
Flow ConfigResetStat(CommandContext& c);
Flow Time(CommandContext& c);
Flow FlushAll(CommandContext& c);
Flow Shutdown(CommandContext& c);
// command_info.cc
Flow Command(CommandContext& c);
Flow CommandCount(CommandContext& c);
Flow CommandInfo(CommandContext& c);
Flow CommandDocs(CommandContext& c);
Flow CommandList(CommandContext& c);
Flow CommandGetKeys(CommandContext& c);
Flow SubcommandHelp(CommandContext& c);  // HELP of every container
// keyspace.cc
Flow Del(CommandContext& c);
Flow Exists(CommandContext& c);
Flow Ttl(CommandContext& c);
Flow Pttl(CommandContext& c);
Flow Type(CommandContext& c);
// listing.cc
Flow Keys(CommandContext& c);
Flow Scan(CommandContext& c);
Flow DbSize(CommandContext& c);
// strings.cc
Flow Set(CommandContext& c);
Flow Get(CommandContext& c);
Flow MGet(CommandContext& c);
Flow StrLen(CommandContext& c);
// bitmap.cc
Flow SetBit(CommandContext& c);
Flow GetBit(CommandContext& c);
Flow BitCount(CommandContext& c);
// bits.cc
Flow BitPos(CommandContext& c);
Flow BitField(CommandContext& c);
Flow BitFieldRo(CommandContext& c);
Flow BitOperation(CommandContext& c);
// set.cc
Flow SAdd(CommandContext& c);
Flow SRem(CommandContext& c);
Flow SIsMember(CommandContext& c);
Flow SMIsMember(CommandContext& c);
Flow SCard(CommandContext& c);
Flow SMembers(CommandContext& c);
Flow SScan(CommandContext& c);
// set_algebra.cc
Flow SRandMember(CommandContext& c);
Flow SPop(CommandContext& c);
Flow SMove(CommandContext& c);
Flow SInter(CommandContext& c);
Flow SUnion(CommandContext& c);
Flow SDiff(CommandContext& c);
Flow SInterStore(CommandContext& c);
Flow SUnionStore(CommandContext& c);
Flow SDiffStore(CommandContext& c);
Flow SInterCard(CommandContext& c);
Flow FactInter(CommandContext& c);
Flow FactUnion(CommandContext& c);
Flow FactDiff(CommandContext& c);
Flow FactInterCard(CommandContext& c);
// fact.cc
Flow FactAdd(CommandContext& c);
Flow FactRem(CommandContext& c);
Flow FactSet(CommandContext& c);
Flow FactToggle(CommandContext& c);
Flow FactHas(CommandContext& c);
Flow FactMHas(CommandContext& c);
Flow FactCard(CommandContext& c);
Flow FactScan(CommandContext& c);
Flow FactStat(CommandContext& c);
Flow FactExport(CommandContext& c);
Flow FactImport(CommandContext& c);
// count.cc
Flow CountGet(CommandContext& c);
Flow CountMGet(CommandContext& c);
Flow CountRaw(CommandContext& c);
Flow CountIncrBy(CommandContext& c);
Flow CountSync(CommandContext& c);
Flow CountVerify(CommandContext& c);
Flow CountRebuild(CommandContext& c);

}  // namespace tallystick::server
