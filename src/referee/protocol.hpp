// SPDX-License-Identifier: Apache-2.0
// The protocol between the referee and every contestant: short lines on stdin and stdout, tables in
// the input arena. docs/contestants.md is its specification; this file is its only implementation
// on our side, used by the referee and by our own worker.
//
//   referee                                            contestant
//   hello 1 <input bytes> <output bytes> <threads>     hello 1
//   prepare <id> <op> <activations> <output>           done <token> | unsupported <text>
//           <group count> <table offset> <token>         | error <text>
//   run <id> <table offset> <token>                    done <token> | error <text>
//   release <id>                                       (nothing)
//
// A contestant on a GPU is told where device memory is, and runs batches of calls instead. It binds
// them while it has their addresses but not yet their values, and computes them when told to go:
//
//   device <index> <input handle> <input bytes>        done <token> | error <text>
//          <output handle> <output bytes> <token>
//   batch <count> <list offset> <token>                done <token> | error <text>
//   go <head start ns> <delay ns> <token>              done <token> <ns> <kernels> <graphs>
//                                                        | done <token> | error <text>
//
//   quit                                               (ends)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "thresher/problem.hpp"

namespace thresher::referee {

inline constexpr int kProtocolVersion = 1;
// Descriptors the contestant inherits besides stdin, stdout and stderr.
inline constexpr int kInputFd = 3;
inline constexpr int kOutputFd = 4;
inline constexpr std::size_t kLineBytesMax = 4096;
inline constexpr std::size_t kUnreadBytesMax = 16 * kLineBytesMax;

// One group of a prepare table. Offsets are bytes from the start of the input arena, -1 where the
// problem has no such matrix.
struct GroupRecord {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t b_codes = -1;
  std::int64_t b_scales = -1;
  std::int64_t up_codes = -1;
  std::int64_t up_scales = -1;
  float b_global_scale = 1;
  float up_global_scale = 1;
};
static_assert(sizeof(GroupRecord) == 64);

// One group of a run table. `a` holds codes or 16-bit values; `c` counts bytes from the start of
// the output arena, `c_stride` elements.
struct CallRecord {
  std::int64_t a = -1;
  std::int64_t a_scales = -1;
  std::int64_t c = -1;
  std::int64_t c_stride = 0;
  float a_global_scale = 1;
  float alpha = 1;
  float alpha_up = 1;
  float reserved = 0;
};
static_assert(sizeof(CallRecord) == 48);

// One call of a batch: the prepared problem, and where its table of CallRecords lies.
struct BatchRecord {
  std::int64_t id = 0;
  std::int64_t table_offset = 0;
};
static_assert(sizeof(BatchRecord) == 16);

// By which another process maps device memory; written as hexadecimal digits.
using DeviceHandle = std::array<std::uint8_t, 64>;

enum class RequestKind : std::uint8_t {
  kHello,
  kDevice,
  kPrepare,
  kRun,
  kBatch,
  kGo,
  kRelease,
  kQuit
};

// What the referee says; only the fields of its kind mean something.
struct Request {
  RequestKind kind = RequestKind::kQuit;
  int version = kProtocolVersion;   // kHello
  std::int64_t input_bytes = 0;     // kHello, kDevice
  std::int64_t output_bytes = 0;    // kHello, kDevice
  int thread_count = 1;             // kHello
  int device_index = 0;             // kDevice
  DeviceHandle input_handle = {};   // kDevice
  DeviceHandle output_handle = {};  // kDevice
  std::int64_t id = 0;              // kPrepare, kRun, kRelease
  Op op = Op::kGemm;                // kPrepare
  Activations activations = {};     // kPrepare
  Output output = {};               // kPrepare
  std::int64_t group_count = 0;     // kPrepare
  std::int64_t table_offset = 0;    // kPrepare, kRun; kBatch: of the BatchRecords
  std::int64_t call_count = 0;      // kBatch
  std::int64_t head_start_ns = 0;   // kGo: for the device to idle before the clock runs
  std::int64_t delay_ns = 0;        // kGo: for the device to idle, on the clock
  std::uint64_t token = 0;          // all that are answered with kDone

  bool operator==(const Request&) const = default;
};

// With the line break.
std::string to_line(const Request& request);
// Without it; nothing if the line is not a request.
std::optional<Request> parse_request(std::string_view line);

enum class ReplyKind : std::uint8_t { kHello, kDone, kUnsupported, kError };

// What our own worker tells of a batch.
struct BatchReport {
  std::int64_t ns = 0;  // on the device, between events around all calls
  std::int64_t kernel_count = 0;
  std::int64_t graph_count = 0;

  bool operator==(const BatchReport&) const = default;
};

struct Reply {
  ReplyKind kind = ReplyKind::kError;
  std::int64_t version = 0;           // kHello
  std::uint64_t token = 0;            // kDone
  std::optional<BatchReport> report;  // kDone, to kGo
  std::string text;  // kUnsupported, kError: printable, at most kReplyTextMax characters

  bool operator==(const Reply&) const = default;
};

inline constexpr std::size_t kReplyTextMax = 300;

std::string to_line(const Reply& reply);
std::optional<Reply> parse_reply(std::string_view line);

// What a contestant wrote, fit to stand in a message: one line, printable ASCII, not too long.
std::string printable(std::string_view text, std::size_t length_max = kReplyTextMax);
// The same of text in lines: they stay lines, and letters beyond ASCII stay what they are, if they
// are UTF-8 and a terminal obeys none of them. "..." at the end: there was more.
std::string printable_lines(std::string_view text, std::size_t lines_max, std::size_t length_max);

// Cuts a stream of bytes into lines. A line that does not end within kLineBytesMax, or more lines
// than anybody asked for, is a fault of the sender, and nothing after it can be trusted.
class LineReader {
 public:
  void feed(std::string_view bytes);
  std::optional<std::string> next_line();
  bool overlong() const { return overlong_; }
  // Everything fed has been returned by next_line().
  bool empty() const { return buffer_.empty(); }

 private:
  std::string buffer_;
  bool overlong_ = false;
};

}  // namespace thresher::referee
