// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mutate.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace thresher::fuzz {
namespace {

// Pieces of TOML, and of what only looks like it.
// clang-format off
constexpr std::string_view kWords[] = {
    "[[problem]]\n", "[problem]\n", "name = \"x\"\n", "op = \"dual\"\n", "m = [1, 2]\n", "n = 1\n",
    "k = 16\n", "groups = 65536\n", "groups = 3\n",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "16777216", "-1", "0x10",
    "0b1", "1e308", "1.5", "inf", "-nan", "true", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z",
    "\"\"\"", "'''", "\"", "'", "\\u0000", "\\U0010ffff", "\\", "#", "=", ",", ".", "a.",
    "\n", "\r\n", "\r", "\xef\xbb\xbf", "\xff", "\xc3", "\xed\xa0\x80",
    "[", "]", "{", "}", "{a=", "= [", "[["};

// Values that are right somewhere, but hardly where they are put.
constexpr std::string_view kValues[] = {
    "0", "1", "-1", "3", "15", "16", "65537", "16777216", "16777217", "9223372036854775807",
    "1.5", "true", "1979-05-27", "\"dual\"", "\"bf16\"", "\"\"", "\"\\n\"",
    "[]", "[1]", "[16, 32, 48]", "[1, true]", "[[1]]", "{}"};
// clang-format on

using Mutation = void (*)(Random&, std::string&);

std::string_view pick_word(Random& random) { return kWords[random.below(std::size(kWords))]; }

std::size_t pick_position(Random& random, const std::string& text) {
  return random.below(text.size() + 1);
}

std::size_t pick_line_begin(Random& random, const std::string& text) {
  const std::size_t line_break = text.rfind('\n', pick_position(random, text));
  return line_break == std::string::npos ? 0 : line_break + 1;
}

std::size_t line_end(const std::string& text, std::size_t begin) {
  const std::size_t line_break = text.find('\n', begin);
  return line_break == std::string::npos ? text.size() : line_break + 1;
}

std::string pick_piece(Random& random, const std::string& text) {
  const std::size_t position = pick_position(random, text);
  return text.substr(position, 1 + random.below(200));
}

void flip_bits(Random& random, std::string& text) {
  if (text.empty()) return;
  for (int i = random.between(1, 4); i > 0; --i) {
    char& c = text[random.below(text.size())];
    c = static_cast<char>(c ^ (1 << random.below(8)));
  }
}

void insert_word(Random& random, std::string& text) {
  text.insert(pick_position(random, text), pick_word(random));
}

void delete_piece(Random& random, std::string& text) {
  text.erase(pick_position(random, text), 1 + random.below(100));
}

void copy_piece(Random& random, std::string& text) {
  text.insert(pick_position(random, text), pick_piece(random, text));
}

// Now and then often enough to meet the limits on size, problems, groups and depth.
void repeat_piece(Random& random, std::string& text) {
  const std::string piece =
      random.below(2) == 0 ? pick_piece(random, text) : std::string(pick_word(random));
  const std::size_t repeat_max = random.below(50) == 0 ? 1000000 : 300;
  std::string repeated;
  for (std::size_t i = random.below(repeat_max); i > 0 && repeated.size() < kInputBytesMax; --i) {
    repeated += piece;
  }
  text.insert(pick_position(random, text), repeated);
}

void grow_number(Random& random, std::string& text) {
  const std::size_t digit = text.find_first_of("0123456789", pick_position(random, text));
  if (digit == std::string::npos) return;
  text.replace(digit, 1, random.below(2) == 0 ? pick_word(random) : std::string_view("99999"));
}

constexpr Mutation kMutations[] = {flip_bits,  insert_word,  delete_piece,
                                   copy_piece, repeat_piece, grow_number};

// Mutations that keep the text TOML, to get past the syntax and at what the reader makes of it.
void delete_line(Random& random, std::string& text) {
  const std::size_t begin = pick_line_begin(random, text);
  text.erase(begin, line_end(text, begin) - begin);
}

void copy_line(Random& random, std::string& text) {
  const std::size_t begin = pick_line_begin(random, text);
  const std::string line = text.substr(begin, line_end(text, begin) - begin);
  text.insert(pick_line_begin(random, text), line);
}

void change_value(Random& random, std::string& text) {
  const std::size_t equals = text.find("= ", pick_position(random, text));
  if (equals == std::string::npos) return;
  const std::size_t begin = equals + 2;
  text.replace(begin, text.find('\n', begin) - begin, kValues[random.below(std::size(kValues))]);
}

struct Nesting {
  std::string_view before, opening, middle, closing, after;
};

// Mostly whole: a parser only builds and destroys what it could read to its end.
void nest(Random& random, std::string& text) {
  constexpr Nesting kNestings[] = {
      {"x = ", "[", "1", "]", "\n"},     {"x = ", "{a=", "1", "}", "\n"},
      {"x = ", "{a=[", "1", "]}", "\n"}, {"x = ", "[\n{a.b=", "1", "}]", "\n"},
      {"", "a.", "a = 1", "", "\n"},     {"[", "a.", "a", "", "]\n"},
      {"[[", "a.", "a", "", "]]\n"},     {"[", "[", "a", "]", "]\n"}};
  const Nesting& nesting = kNestings[random.below(std::size(kNestings))];
  const std::uint64_t depth = random.below(random.below(10) == 0 ? 300000 : 400);
  std::string nested(nesting.before);
  for (std::uint64_t i = 0; i < depth; ++i) nested += nesting.opening;
  nested += nesting.middle;
  const std::uint64_t closing_count = random.below(8) == 0 ? random.below(depth + 1) : depth;
  for (std::uint64_t i = 0; i < closing_count; ++i) nested += nesting.closing;
  nested += nesting.after;
  text.insert(pick_line_begin(random, text), nested);
}

constexpr Mutation kLineMutations[] = {delete_line, copy_line, change_value, nest};

template <std::size_t count>
void apply_some(Random& random, const Mutation (&mutations)[count], std::string& text) {
  for (int i = random.between(1, 4); i > 0; --i) mutations[random.below(count)](random, text);
}

}  // namespace

std::string mutate(Random& random, const std::vector<std::string>& corpus) {
  std::string text = corpus[random.below(corpus.size())];
  if (random.below(2) == 0) {
    apply_some(random, kLineMutations, text);
  } else {
    // Short inputs are tried more often per second, and less of them hides behind a first error.
    if (random.below(2) == 0) text.resize(std::min(text.size(), random.below(1000)));
    if (random.below(4) == 0) text += pick_piece(random, corpus[random.below(corpus.size())]);
    apply_some(random, kMutations, text);
  }
  text.resize(std::min(text.size(), kInputBytesMax));
  return text;
}

}  // namespace thresher::fuzz
