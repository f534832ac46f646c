// The one place where Redis's error words are. Texts are those of Redis 7.0.15, without the leading
// dash; ReplyWriter::Error sends them.
#pragma once

#include <tallystick/status.h>

#include <span>
#include <string>
#include <string_view>

namespace tallystick::server {

namespace error {

inline constexpr std::string_view kSyntax = "ERR syntax error";
inline constexpr std::string_view kNotInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kNotPositive = "ERR value is out of range, must be positive";
inline constexpr std::string_view kBitOffset = "ERR bit offset is not an integer or out of range";
inline constexpr std::string_view kBitValue = "ERR bit is not an integer or out of range";
inline constexpr std::string_view kBitArgument = "ERR The bit argument must be 1 or 0.";
inline constexpr std::string_view kBitType =
    "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 "
    "is.";
inline constexpr std::string_view kBitOverflow = "ERR Invalid OVERFLOW type specified";
inline constexpr std::string_view kBitFieldReadOnly =
    "ERR BITFIELD_RO only supports the GET subcommand";
inline constexpr std::string_view kBitNot =
    "ERR BITOP NOT must be called with a single source key.";
inline constexpr std::string_view kStringTooLong =
    "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
inline constexpr std::string_view kLimitNegative = "ERR LIMIT can't be negative";
inline constexpr std::string_view kNumkeysZero = "ERR numkeys should be greater than 0";
inline constexpr std::string_view kNumkeysTooMany =
    "ERR Number of keys can't be greater than number of args";
inline constexpr std::string_view kRange =
    "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807";
inline constexpr std::string_view kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view kInvalidCursor = "ERR invalid cursor";
inline constexpr std::string_view kNoAuth = "NOAUTH Authentication required.";
inline constexpr std::string_view kWrongPass =
    "WRONGPASS invalid username-password pair or user is disabled.";
inline constexpr std::string_view kAuthNotConfigured =
    "ERR AUTH <password> called without any password configured for the default user. "
    "Are you sure your configuration is correct?";
inline constexpr std::string_view kNoProto = "NOPROTO unsupported protocol version";
inline constexpr std::string_view kProtocolNotInteger =
    "ERR Protocol version is not an integer or out of range";
inline constexpr std::string_view kHelloNoAuth =
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
    "AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol "
    "version at the same time";
inline constexpr std::string_view kClientName =
    "ERR Client names cannot contain spaces, newlines or special characters.";
inline constexpr std::string_view kDbIndex = "ERR DB index is out of range";
inline constexpr std::string_view kMaxClients = "ERR max number of clients reached";
inline constexpr std::string_view kNoSuchClient = "ERR No such client";
inline constexpr std::string_view kInvalidCommand = "ERR Invalid command specified";

// Ours: no Redis command says these.
inline constexpr std::string_view kReplyTooLarge = "ERR reply too large, use SSCAN";
inline constexpr std::string_view kExportTooLarge = "ERR reply too large, use FACT.EXPORT CURSOR";
inline constexpr std::string_view kExportBytes =
    "ERR BYTES must be 65536 to the lesser of proto-max-bulk-len and 67108864";
inline constexpr std::string_view kRecordBits =
    "ERR count keys are derived from facts and not written bit by bit";
inline constexpr std::string_view kStoreOfIds =
    "ERR STORE forms do not work on sets whose members are ids of a dictionary";
inline constexpr std::string_view kMember =
    "ERR set members must be unsigned 64-bit integers in canonical decimal form";
inline constexpr std::string_view kUid =
    "ERR uid must be an unsigned 64-bit integer in canonical decimal form";
inline constexpr std::string_view kFactKey = "ERR fact key must be metric:etype:eid";
inline constexpr std::string_view kEntity = "ERR entity must be etype:eid";
inline constexpr std::string_view kPatternTooLong = "ERR pattern is longer than 512 bytes";

}  // namespace error

// "BUSY ...", "MISCONF ..." and so on for a failed engine call.
std::string StatusError(const Status& status);
// The same when only the code is known (an outcome within a batch). No allocation.
std::string_view StatusCodeError(StatusCode code);

std::string UnknownCommandError(std::span<const std::string_view> arguments);
// `command` is the container's name in the client's spelling.
std::string UnknownSubcommandError(std::string_view command, std::string_view subcommand);
std::string ArityError(std::string_view full_name);
std::string InvalidExpireError(std::string_view command);

}  // namespace tallystick::server
