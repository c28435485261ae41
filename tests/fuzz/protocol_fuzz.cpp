// SPDX-License-Identifier: Apache-2.0
// Any bytes at all that a contestant writes become lines and replies, or a fault: no crash, no
// unbounded memory, and what parses means the same when it is written again. The entry point is
// libFuzzer's; tests/fuzz/driver.cpp calls it where libFuzzer is not at hand.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "assert.hpp"
#include "referee/protocol.hpp"

namespace {

using namespace thresher::referee;

std::string_view without_break(std::string_view line) {
  THRESHER_ASSERT(line.ends_with('\n'));
  return line.substr(0, line.size() - 1);
}

void try_line(std::string_view line) {
  if (const std::optional<Reply> reply = parse_reply(line)) {
    THRESHER_ASSERT(reply->text.size() <= kReplyTextMax);
    THRESHER_ASSERT(parse_reply(without_break(to_line(*reply))) == reply);
  }
  if (const std::optional<Request> request = parse_request(line)) {
    THRESHER_ASSERT(parse_request(without_break(to_line(*request))) == request);
  }
  for (const char c : printable(line)) THRESHER_ASSERT(c >= ' ' && c <= '~');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  LineReader reader;
  std::size_t chunk_bytes = 1;
  while (!rest.empty()) {
    const std::string_view chunk = rest.substr(0, chunk_bytes);
    rest.remove_prefix(chunk.size());
    reader.feed(chunk);
    while (const std::optional<std::string> line = reader.next_line()) {
      THRESHER_ASSERT(line->size() <= kLineBytesMax && line->find('\n') == std::string::npos);
      try_line(*line);
    }
    if (reader.overlong()) {
      THRESHER_ASSERT(!reader.next_line());
      return 0;
    }
    chunk_bytes = chunk_bytes * 3 % 8191;
  }
  return 0;
}
