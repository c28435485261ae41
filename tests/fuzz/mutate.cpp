// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mutate.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace thresher::fuzz {
namespace {

constexpr std::size_t kUsualBytesMax = std::size_t{16} << 10;

// Pieces of TOML, and of what only looks like it.
constexpr std::string_view kWords[] = {"[[problem]]\n",
                                       "[problem]\n",
                                       "name = \"x\"\n",
                                       "op = \"dual\"\n",
                                       "m = [1, 2]\n",
                                       "n = 1\n",
                                       "k = 16\n",
                                       "groups = 65536\n",
                                       "groups = 3\n",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "-9223372036854775808",
                                       "16777216",
                                       "-1",
                                       "0x10",
                                       "0b1",
                                       "1e308",
                                       "1.5",
                                       "inf",
                                       "-nan",
                                       "true",
                                       "1979-05-27",
                                       "07:32:00",
                                       "1979-05-27T07:32:00Z",
                                       "\"\"\"",
                                       "'''",
                                       "\"",
                                       "'",
                                       "\\u0000",
                                       "\\U0010ffff",
                                       "\\",
                                       "#",
                                       "=",
                                       ",",
                                       ".",
                                       "a.",
                                       "\n",
                                       "\r\n",
                                       "\r",
                                       "\xef\xbb\xbf",
                                       "\xff",
                                       "\xc3",
                                       "\xed\xa0\x80",
                                       "[",
                                       "]",
                                       "{",
                                       "}",
                                       "{a=",
                                       "= [",
                                       "[["};

using Mutation = void (*)(Random&, std::string&);

std::string_view pick_word(Random& random) { return kWords[random.below(std::size(kWords))]; }

std::size_t pick_position(Random& random, const std::string& text) {
  return random.below(text.size() + 1);
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

void nest(Random& random, std::string& text) {
  constexpr std::string_view kOpenings[] = {"[", "{a=", "{a=[", "a.a.", "[a.", "[["};
  const std::string_view opening = kOpenings[random.below(std::size(kOpenings))];
  std::string nested = random.below(2) == 0 ? "\nx = " : "\n";
  for (std::size_t i = random.below(random.below(20) == 0 ? 300000 : 400); i > 0; --i) {
    nested += opening;
  }
  text.insert(pick_position(random, text), nested);
}

void grow_number(Random& random, std::string& text) {
  const std::size_t digit = text.find_first_of("0123456789", pick_position(random, text));
  if (digit == std::string::npos) return;
  text.replace(digit, 1, random.below(2) == 0 ? pick_word(random) : std::string_view("99999"));
}

constexpr Mutation kMutations[] = {flip_bits,    insert_word, delete_piece, copy_piece,
                                   repeat_piece, nest,        grow_number};

// Mutations that keep the text TOML, to get past the syntax and at what the reader makes of it.
std::size_t pick_line_begin(Random& random, const std::string& text) {
  const std::size_t line_break = text.rfind('\n', pick_position(random, text));
  return line_break == std::string::npos ? 0 : line_break + 1;
}

std::size_t line_end(const std::string& text, std::size_t begin) {
  const std::size_t line_break = text.find('\n', begin);
  return line_break == std::string::npos ? text.size() : line_break + 1;
}

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
  constexpr std::string_view kValues[] = {
      "0",       "1",     "-1",        "15",           "16",
      "3",       "65537", "16777216",  "16777217",     "9223372036854775807",
      "1.5",     "true",  "\"dual\"",  "\"bf16\"",     "\"\"",
      "\"\\n\"", "[]",    "[1]",       "[16, 32, 48]", "[1, true]",
      "[[1]]",   "{}",    "1979-05-27"};
  const std::size_t equals = text.find("= ", pick_position(random, text));
  if (equals == std::string::npos) return;
  const std::size_t begin = equals + 2;
  text.replace(begin, text.find('\n', begin) - begin, kValues[random.below(std::size(kValues))]);
}

constexpr Mutation kLineMutations[] = {delete_line, copy_line, change_value};

std::string mutate_lines(Random& random, std::string text) {
  for (int i = random.between(1, 3); i > 0; --i) {
    kLineMutations[random.below(std::size(kLineMutations))](random, text);
  }
  return text;
}

}  // namespace

std::string mutate(Random& random, const std::vector<std::string>& corpus) {
  std::string text = corpus[random.below(corpus.size())];
  if (random.below(2) == 0) return mutate_lines(random, std::move(text));
  // Short inputs are tried more often per second, and fewer of their mutations hide one another.
  if (random.below(2) == 0) text.resize(std::min(text.size(), random.below(1000)));
  if (random.below(4) == 0) text += pick_piece(random, corpus[random.below(corpus.size())]);
  for (int i = random.between(1, 6); i > 0; --i) {
    kMutations[random.below(std::size(kMutations))](random, text);
  }
  if (random.below(20) != 0) text.resize(std::min(text.size(), kUsualBytesMax));
  text.resize(std::min(text.size(), kInputBytesMax));
  return text;
}

}  // namespace thresher::fuzz
