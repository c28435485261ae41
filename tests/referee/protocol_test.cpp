// SPDX-License-Identifier: Apache-2.0
#include "referee/protocol.hpp"

#include <gtest/gtest.h>

namespace thresher::referee {
namespace {

std::string_view without_break(const std::string& line) {
  return std::string_view(line).substr(0, line.size() - 1);
}

TEST(Protocol, RequestsReadAsDocumented) {
  EXPECT_EQ(to_line(Request{.kind = RequestKind::kHello,
                            .input_bytes = 4096,
                            .output_bytes = 512,
                            .thread_count = 8}),
            "hello 1 4096 512 8\n");
  EXPECT_EQ(to_line(Request{.kind = RequestKind::kPrepare,
                            .id = 3,
                            .op = Op::kDual,
                            .activations = Activations::kBf16,
                            .output = Output::kFp32,
                            .group_count = 2,
                            .table_offset = 64,
                            .token = 0xabc}),
            "prepare 3 dual bf16 fp32 2 64 abc\n");
  EXPECT_EQ(
      to_line(Request{.kind = RequestKind::kRun, .id = 3, .table_offset = 128, .token = 0xdef}),
      "run 3 128 def\n");
  EXPECT_EQ(to_line(Request{.kind = RequestKind::kRelease, .id = 3}), "release 3\n");
  EXPECT_EQ(to_line(Request{.kind = RequestKind::kQuit}), "quit\n");
}

DeviceHandle some_handle(std::uint8_t first) {
  DeviceHandle handle;
  for (std::size_t i = 0; i < handle.size(); ++i) handle[i] = static_cast<std::uint8_t>(first + i);
  return handle;
}

TEST(Protocol, RequestsToADeviceReadAsDocumented) {
  const std::string line = to_line(Request{.kind = RequestKind::kDevice,
                                           .input_bytes = 4096,
                                           .output_bytes = 512,
                                           .device_index = 1,
                                           .input_handle = some_handle(0),
                                           .output_handle = some_handle(250),
                                           .token = 0xabc});
  EXPECT_TRUE(line.starts_with("device 1 000102030405")) << line;
  EXPECT_NE(line.find("3d3e3f 4096 fafbfcfdfeff0001"), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("3839 512 abc\n")) << line;
  EXPECT_EQ(to_line(Request{
                .kind = RequestKind::kBatch, .table_offset = 64, .call_count = 17, .token = 0xd}),
            "batch 17 64 d\n");
  EXPECT_EQ(to_line(Request{
                .kind = RequestKind::kGo, .head_start_ns = 50000, .delay_ns = 4000, .token = 0xe}),
            "go 50000 4000 e\n");
}

TEST(Protocol, RequestsToADeviceReadBack) {
  for (const Request& request :
       {Request{.kind = RequestKind::kDevice,
       .input_bytes = std::int64_t{1} << 40,
       .output_bytes = 1,
       .device_index = 7,
       .input_handle = some_handle(3),
       .output_handle = some_handle(200),
       .token = ~0ull},
        Request{.kind = RequestKind::kBatch, .table_offset = 64, .call_count = 32, .token = 5},
        Request{.kind = RequestKind::kGo, .head_start_ns = 7, .delay_ns = 12345, .token = 6}}) {
    EXPECT_EQ(parse_request(without_break(to_line(request))), request);
  }
}

TEST(Protocol, HandlesAreWholeAndHexadecimal) {
  const std::string digits(128, 'a');
  EXPECT_TRUE(parse_request("device 0 " + digits + " 1 " + digits + " 1 f"));
  EXPECT_FALSE(parse_request("device 0 " + digits.substr(1) + " 1 " + digits + " 1 f"));
  EXPECT_FALSE(parse_request("device 0 " + digits + "a 1 " + digits + " 1 f"));
  EXPECT_FALSE(parse_request("device 0 " + std::string(128, 'g') + " 1 " + digits + " 1 f"));
  EXPECT_FALSE(parse_request("device 0 " + std::string(128, '-') + " 1 " + digits + " 1 f"));
}

TEST(Protocol, RequestsReadBack) {
  const Request prepare{.kind = RequestKind::kPrepare,
                        .id = 7,
                        .op = Op::kDual,
                        .activations = Activations::kFp16,
                        .output = Output::kBf16,
                        .group_count = 65536,
                        .table_offset = std::int64_t{1} << 40,
                        .token = ~0ull};
  EXPECT_EQ(parse_request(without_break(to_line(prepare))), prepare);
}

TEST(Protocol, RepliesReadBack) {
  for (const Reply& reply :
       {Reply{.kind = ReplyKind::kHello, .version = 1},
        Reply{.kind = ReplyKind::kDone, .token = 0x0123456789abcdef},
        Reply{.kind = ReplyKind::kDone, .token = 1, .report = BatchReport{400000, 34, 17}},
        Reply{.kind = ReplyKind::kUnsupported, .text = "k = 48"},
        Reply{.kind = ReplyKind::kError, .text = "out of luck"}}) {
    EXPECT_EQ(parse_reply(without_break(to_line(reply))), reply);
  }
}

TEST(Protocol, EverythingElseIsNoReply) {
  for (const char* line : {"",
                           " ",
                           "done",
                           "done ",
                           "done x",
                           "done 1 2",
                           "done 1 2 3",
                           "done 1 2 3 4 5",
                           "done 1 2 3 x",
                           "done  1",
                           " done 1",
                           "DONE 1",
                           "done -1",
                           "done 0x1",
                           "done 11111111111111111",
                           "hello",
                           "hello one",
                           "hello 1 ",
                           "errors",
                           "ok",
                           "unsupportedly",
                           "done 1\r"}) {
    EXPECT_FALSE(parse_reply(line)) << '"' << line << '"';
  }
}

TEST(Protocol, ErrorNeedsNoText) { EXPECT_EQ(parse_reply("error")->text, ""); }

TEST(Protocol, TextIsMadePrintableAndShort) {
  EXPECT_EQ(printable("a\nb\tc\x1b[31m\xff"), "a b c?[31m?");
  EXPECT_EQ(printable("abcdef", 5), "ab...");
  EXPECT_EQ(parse_reply("error " + std::string(1000, 'x'))->text.size(), kReplyTextMax);
}

TEST(PrintableLines, KeepsLinesAndLettersAndNothingThatATerminalObeys) {
  EXPECT_EQ(printable_lines("k.c:1: \xe2\x80\x98x\xe2\x80\x99\r\n\tnote\n\n", 9, 99),
            "k.c:1: \xe2\x80\x98x\xe2\x80\x99\n note");
  EXPECT_EQ(printable_lines("\x1b[31m\xff\x7f\xc2\x9b", 9, 99), "?[31m????") << "C1 is control too";
  EXPECT_EQ(printable_lines("\xc0\xaf\xed\xa0\x80\xe2\x80", 9, 99), "???????") << "no UTF-8";
  EXPECT_EQ(printable_lines("\xf0\x9f\x8c\xbe", 9, 99), "\xf0\x9f\x8c\xbe");
  EXPECT_EQ(printable_lines("a\nb\nc", 2, 99), "a\nb\n...");
  EXPECT_EQ(printable_lines("abc\xc3\xa4", 9, 4), "abc...") << "no half letters";
  EXPECT_EQ(printable_lines("", 9, 99), "");
}

TEST(LineReader, CutsWhereverChunksEnd) {
  LineReader reader;
  reader.feed("do");
  EXPECT_FALSE(reader.next_line());
  EXPECT_FALSE(reader.empty());
  reader.feed("ne 1\nhel");
  EXPECT_EQ(reader.next_line(), "done 1");
  EXPECT_FALSE(reader.next_line());
  reader.feed("lo 1\n\n");
  EXPECT_EQ(reader.next_line(), "hello 1");
  EXPECT_EQ(reader.next_line(), "");
  EXPECT_TRUE(reader.empty());
}

TEST(LineReader, RefusesEndlessLines) {
  LineReader reader;
  reader.feed(std::string(kLineBytesMax, 'x'));
  EXPECT_FALSE(reader.overlong());
  reader.feed("x");
  EXPECT_TRUE(reader.overlong());
  reader.feed("\ndone 1\n");
  EXPECT_FALSE(reader.next_line());
}

TEST(LineReader, RefusesLongLinesThatComeWhole) {
  LineReader reader;
  reader.feed(std::string(kLineBytesMax + 1, 'x') + "\n");
  EXPECT_FALSE(reader.next_line());
  EXPECT_TRUE(reader.overlong());
}

TEST(LineReader, RefusesEndlessShortLines) {
  LineReader reader;
  for (std::size_t i = 0; i <= kUnreadBytesMax; i += 2) reader.feed("x\n");
  EXPECT_TRUE(reader.overlong());
}

}  // namespace
}  // namespace thresher::referee
