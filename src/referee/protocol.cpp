// SPDX-License-Identifier: Apache-2.0
#include "referee/protocol.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Takes the words of a line one after the other; whatever is not as it should be makes it fail.
class Words {
 public:
  explicit Words(std::string_view line) : words_(words_of(line)) {}

  std::string_view next() { return index_ < words_.size() ? words_[index_++] : fail(); }

  template <typename Number>
  Number number(int base = 10) {
    const std::string_view word = next();
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error != std::errc{} || end != word.data() + word.size() || word.empty()) fail();
    return value;
  }

  template <typename Enum>
  Enum word_of(Enum (*from_string)(std::string_view)) {
    try {
      return from_string(next());
    } catch (const Error&) {
      fail();
      return {};
    }
  }

  DeviceHandle handle() {
    const std::string_view word = next();
    DeviceHandle bytes = {};
    if (word.size() != 2 * bytes.size()) fail();
    for (std::size_t i = 0; i < bytes.size() && !failed_; ++i) {
      const char* digits = word.data() + 2 * i;
      const auto [end, error] = std::from_chars(digits, digits + 2, bytes[i], 16);
      if (error != std::errc{} || end != digits + 2) fail();
    }
    return bytes;
  }

  bool has_more() const { return index_ < words_.size(); }
  bool all_taken() const { return !failed_ && !has_more(); }

 private:
  std::string_view fail() {
    failed_ = true;
    return {};
  }

  std::vector<std::string_view> words_;
  std::size_t index_ = 0;
  bool failed_ = false;
};

std::optional<std::string> text_after(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  line.remove_prefix(word.size());
  if (line.empty()) return std::string();
  if (line.front() != ' ') return std::nullopt;
  return printable(line.substr(1));
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Bytes of the letter that `text` begins with; 0 if it is no UTF-8, or a control character.
std::size_t letter_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < count) return 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_letter = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  const bool control = first == 0xc2 && second < 0xa0;
  return overlong || no_letter || control ? 0 : count;
}

}  // namespace

std::string to_line(const Request& request) {
  switch (request.kind) {
    case RequestKind::kHello:
      return fmt::format("hello {} {} {} {}\n", request.version, request.input_bytes,
                         request.output_bytes, request.thread_count);
    case RequestKind::kPrepare:
      return fmt::format("prepare {} {} {} {} {} {} {:x}\n", request.id, to_string(request.op),
                         to_string(request.activations), to_string(request.output),
                         request.group_count, request.table_offset, request.token);
    case RequestKind::kRun:
      return fmt::format("run {} {} {:x}\n", request.id, request.table_offset, request.token);
    case RequestKind::kDevice:
      return fmt::format("device {} {:02x} {} {:02x} {} {:x}\n", request.device_index,
                         fmt::join(request.input_handle, ""), request.input_bytes,
                         fmt::join(request.output_handle, ""), request.output_bytes, request.token);
    case RequestKind::kBatch:
      return fmt::format("batch {} {} {:x}\n", request.call_count, request.table_offset,
                         request.token);
    case RequestKind::kGo:
      return fmt::format("go {} {} {:x}\n", request.head_start_ns, request.delay_ns, request.token);
    case RequestKind::kRelease:
      return fmt::format("release {}\n", request.id);
    case RequestKind::kQuit:
      break;
  }
  return "quit\n";
}

std::optional<Request> parse_request(std::string_view line) {
  Words words(line);
  Request request;
  const std::string_view verb = words.next();
  if (verb == "hello") {
    request.kind = RequestKind::kHello;
    request.version = words.number<int>();
    request.input_bytes = words.number<std::int64_t>();
    request.output_bytes = words.number<std::int64_t>();
    request.thread_count = words.number<int>();
  } else if (verb == "prepare") {
    request.kind = RequestKind::kPrepare;
    request.id = words.number<std::int64_t>();
    request.op = words.word_of(op_from_string);
    request.activations = words.word_of(activations_from_string);
    request.output = words.word_of(output_from_string);
    request.group_count = words.number<std::int64_t>();
    request.table_offset = words.number<std::int64_t>();
    request.token = words.number<std::uint64_t>(16);
  } else if (verb == "run") {
    request.kind = RequestKind::kRun;
    request.id = words.number<std::int64_t>();
    request.table_offset = words.number<std::int64_t>();
    request.token = words.number<std::uint64_t>(16);
  } else if (verb == "device") {
    request.kind = RequestKind::kDevice;
    request.device_index = words.number<int>();
    request.input_handle = words.handle();
    request.input_bytes = words.number<std::int64_t>();
    request.output_handle = words.handle();
    request.output_bytes = words.number<std::int64_t>();
    request.token = words.number<std::uint64_t>(16);
  } else if (verb == "batch") {
    request.kind = RequestKind::kBatch;
    request.call_count = words.number<std::int64_t>();
    request.table_offset = words.number<std::int64_t>();
    request.token = words.number<std::uint64_t>(16);
  } else if (verb == "go") {
    request.kind = RequestKind::kGo;
    request.head_start_ns = words.number<std::int64_t>();
    request.delay_ns = words.number<std::int64_t>();
    request.token = words.number<std::uint64_t>(16);
  } else if (verb == "release") {
    request.kind = RequestKind::kRelease;
    request.id = words.number<std::int64_t>();
  } else if (verb != "quit") {
    return std::nullopt;
  }
  return words.all_taken() ? std::optional(request) : std::nullopt;
}

std::string to_line(const Reply& reply) {
  switch (reply.kind) {
    case ReplyKind::kHello:
      return fmt::format("hello {}\n", reply.version);
    case ReplyKind::kDone:
      if (!reply.report) return fmt::format("done {:x}\n", reply.token);
      return fmt::format("done {:x} {} {} {}\n", reply.token, reply.report->ns,
                         reply.report->kernel_count, reply.report->graph_count);
    case ReplyKind::kUnsupported:
      return fmt::format("unsupported {}\n", printable(reply.text));
    case ReplyKind::kError:
      break;
  }
  return fmt::format("error {}\n", printable(reply.text));
}

std::optional<Reply> parse_reply(std::string_view line) {
  Reply reply;
  if (std::optional<std::string> text = text_after(line, "unsupported")) {
    reply.kind = ReplyKind::kUnsupported;
    reply.text = std::move(*text);
    return reply;
  }
  if (std::optional<std::string> text = text_after(line, "error")) {
    reply.kind = ReplyKind::kError;
    reply.text = std::move(*text);
    return reply;
  }
  Words words(line);
  const std::string_view verb = words.next();
  if (verb == "hello") {
    reply.kind = ReplyKind::kHello;
    reply.version = words.number<std::int64_t>();
  } else if (verb == "done") {
    reply.kind = ReplyKind::kDone;
    reply.token = words.number<std::uint64_t>(16);
    if (words.has_more()) {
      reply.report = BatchReport{.ns = words.number<std::int64_t>(),
                                 .kernel_count = words.number<std::int64_t>(),
                                 .graph_count = words.number<std::int64_t>()};
    }
  } else {
    return std::nullopt;
  }
  return words.all_taken() ? std::optional(reply) : std::nullopt;
}

std::string printable(std::string_view text, std::size_t length_max) {
  const bool cut = text.size() > length_max;
  std::string result(text.substr(0, cut ? length_max - 3 : text.size()));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = c == '\n' || c == '\t' ? ' ' : '?';
  }
  return cut ? result + "..." : result;
}

std::string printable_lines(std::string_view text, std::size_t lines_max, std::size_t length_max) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string result;
  for (std::size_t line_count = 1; !text.empty();) {
    const std::size_t bytes = std::max<std::size_t>(1, letter_bytes(text));
    const bool breaks = text.front() == '\n';
    if (breaks) ++line_count;
    if (line_count > lines_max || result.size() + bytes > length_max) {
      return result + (breaks ? "\n..." : "...");
    }
    const bool fits = breaks || letter_bytes(text) > 0;
    if (text.front() != '\r') {
      result += fits ? text.substr(0, bytes) : text.front() == '\t' ? " " : "?";
    }
    text.remove_prefix(bytes);
  }
  return result;
}

void LineReader::feed(std::string_view bytes) {
  if (overlong_) return;
  buffer_ += bytes;
  const std::size_t last_break = buffer_.rfind('\n');
  const std::size_t open_bytes =
      last_break == std::string::npos ? buffer_.size() : buffer_.size() - last_break - 1;
  overlong_ = open_bytes > kLineBytesMax || buffer_.size() > kUnreadBytesMax;
}

std::optional<std::string> LineReader::next_line() {
  const std::size_t end = buffer_.find('\n');
  overlong_ = overlong_ || (end != std::string::npos && end > kLineBytesMax);
  if (end == std::string::npos || overlong_) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

}  // namespace thresher::referee
