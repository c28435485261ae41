// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace thresher::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Table, AlignsColumns) {
  Table table({{"name"}, {"us", Align::kRight}});
  table.add_row({"a", "1.5"});
  table.add_row({"longer", "10.5"});
  EXPECT_EQ(table.render(false),
            "name      us\n"
            "a        1.5\n"
            "longer  10.5\n");
}

TEST(Table, HasNoHeaderWithoutTitles) {
  Table table({{""}, {""}});
  table.add_row({"key", "value"});
  EXPECT_EQ(table.render(false), "key  value\n");
}

TEST(Table, FitsTheWidthWhateverIsInIt) {
  Table table({{"problem"}, {"variant"}, {"why"}, {"an uncommonly long title", Align::kRight}});
  table.add_row({std::string(90, 'p'),
                 "cpu_avx512vnni:decode=direct,stages=4,tile=8x32,task=64x128",
                 "this CPU lacks avx512f, avx512bw, avx512vl, avx512dq, avx512vnni and more", "1"});
  for (const std::size_t width : {60, 80, 100, 140}) {
    std::size_t widest = 0;
    for (const std::string& line : lines_of(table.render(false, width))) {
      EXPECT_LE(line.size(), width) << line;
      widest = std::max(widest, line.size());
    }
    EXPECT_GT(widest, width - 15) << "room that there is, is used";
  }
}

TEST(Table, KeepsNumbersWholeAndSqueezesTextLast) {
  Table table({{"problem"}, {"median us", Align::kRight}, {"GFLOP/s", Align::kRight}});
  table.add_row({"a_problem_with_a_long_name", "123456789.25", "1234567890.5"});
  for (const std::string& line : lines_of(table.render(false, 40))) EXPECT_LE(line.size(), 40u);
  EXPECT_NE(table.render(false, 40).find("123456789.25  1234567890.5"), std::string::npos)
      << table.render(false, 40);
}

TEST(Table, WrapsSeveralNumbersBetweenThemBeforeWordsBreak) {
  Table table({{"challenger"}, {"verdicts", Align::kRight}, {"more verdicts", Align::kRight}});
  table.add_row({"everywhere", "10.5 / 20.5 / 69.0", "10.5 / 20.5 / 69.0"});
  const std::string text = table.render(false, 40);
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), 40u) << text;
  for (const char* word : {"challenger", "everywhere", "verdicts", "69.0"}) {
    EXPECT_NE(text.find(word), std::string::npos) << text;
  }
}

TEST(Table, BreaksWordsLastAndKeepsItsIndent) {
  Table table({{"problem"}, {"activations"}, {"groups", Align::kRight}}, 2);
  table.add_row({"warp_specialisation_of_something", "nvfp4", "12"});
  const std::string text = table.render(false, 44);
  EXPECT_NE(text.find("activations"), std::string::npos) << text;
  EXPECT_NE(text.find("specialisation_"), std::string::npos) << text;
  for (const std::string& line : lines_of(text)) {
    EXPECT_TRUE(line.starts_with("  ")) << text;
    EXPECT_LE(line.size(), 44u) << text;
  }
}

TEST(Table, CountsLettersAndKeepsLines) {
  Table table({{""}, {""}});
  table.add_row({"reason", "k.c:2: \xe2\x80\x98x\xe2\x80\x99\nnote"});
  table.add_row({"\xc3\xa4", "b"});
  EXPECT_EQ(table.render(false),
            "reason  k.c:2: \xe2\x80\x98x\xe2\x80\x99\n"
            "        note\n"
            "\xc3\xa4       b\n");
}

TEST(Table, WrapsWithoutLosingText) {
  const std::string why =
      "this CPU lacks avx512f, avx512bw, avx512vl, avx512dq, the operating system's grant of AMX "
      "tiles, and a good deal more";
  Table table({{"variant"}, {"why"}});
  table.add_row({"cpu_amx", why});
  std::string joined;
  for (const std::string& line : lines_of(table.render(false))) {
    if (line.starts_with("variant")) continue;
    const std::string cell = line.substr(std::string("cpu_amx  ").size());
    joined += cell + (cell.ends_with(",") || !cell.ends_with(" ") ? " " : "");
  }
  joined.pop_back();
  EXPECT_EQ(joined, why);
}

TEST(Table, ColoursOnlyWhenAsked) {
  Table table({{"failed"}});
  table.add_row({Cell("3", Tone::kBad)});
  EXPECT_EQ(table.render(false).find('\033'), std::string::npos);
  EXPECT_NE(table.render(true).find("\033[31m"), std::string::npos);
}

}  // namespace
}  // namespace thresher::cli
