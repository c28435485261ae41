// SPDX-License-Identifier: Apache-2.0
#include "tune/recorded_space.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "thresher/error.hpp"

namespace thresher::tune {
namespace {

std::string result(const std::string& configuration, const std::string& time,
                   const std::string& invalidity = "correct") {
  return fmt::format(R"({{"configuration": {{{}}}, "times": {{}}, "invalidity": "{}",
      "correctness": 1, "measurements": [{{"name": "power", "value": 7}},
      {{"name": "time", "value": {}}}], "objectives": ["time"]}})",
                     configuration, invalidity, time);
}

std::string file_of(const std::string& results) {
  return R"({"schema_version": "1.0.0", "results": [)" + results + "]}";
}

std::string fault_in(const std::string& text) {
  try {
    recorded_space_from_json(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RecordedSpace, HasKnobsThatVaryWithTheirValuesInOrder) {
  const RecordedSpace read = recorded_space_from_json(
      file_of(result(R"("x": 128, "one": 1, "mode": "b")", "2.5") + "," +
              result(R"("mode": "a", "one": 1, "x": 16)", "\"no\"", "runtime") + "," +
              result(R"("x": 32, "one": 1, "mode": "a")", "1.5")));
  EXPECT_EQ(read.space.knobs, (std::vector<std::string>{"x", "mode"}));
  EXPECT_EQ(read.space.values[0], (std::vector<std::string>{"16", "32", "128"}));
  EXPECT_EQ(read.space.values[1], (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read.space.points, (std::vector<Point>{{2, 1}, {0, 0}, {1, 0}}));
  EXPECT_EQ(read.times[0], 2.5);
  EXPECT_TRUE(std::isinf(read.times[1]));
  EXPECT_EQ(read.runs_count, 2U);
  EXPECT_EQ(read.least, 1.5);
}

TEST(RecordedSpace, ComesBackAsItWasWritten) {
  VariantSpace space;
  space.space = {.knobs = {"head", "stages"},
                 .values = {{"cpu_avx2", "cpu_amx"}, {"2", "8"}},
                 .points = {{0, 0}, {0, 1}, {1, 0}, {1, 1}},
                 .guesses = {}};
  space.names = {"a", "b", "c", "d"};
  const RecordedSpace read =
      recorded_space_from_json(recorded_space_to_json(space, {{"a", 2}, {"b", 1.5}, {"d", 0}}));
  EXPECT_EQ(read.space.knobs, space.space.knobs);
  EXPECT_EQ(read.space.values[1], (std::vector<std::string>{"2", "8"}));
  EXPECT_EQ(read.space.points.size(), 3U);
  EXPECT_EQ(read.runs_count, 2U);
  EXPECT_EQ(read.least, 1.5);
}

TEST(RecordedSpace, SaysWhatIsWrongWithAFile) {
  const std::string good = result(R"("x": 1)", "1");
  EXPECT_EQ(fault_in("{"), "it is not JSON");
  EXPECT_EQ(fault_in("\x1f\x8b\x08"), "it is compressed: gunzip it first");
  EXPECT_EQ(fault_in("[]"), "the file has no 'results'");
  EXPECT_EQ(fault_in(R"({"results": 1})"), "the file 'results' is not a list");
  EXPECT_EQ(fault_in(file_of("")), "none of its results is correct");
  EXPECT_EQ(fault_in(file_of("7")), "result 0: has no 'configuration'");
  EXPECT_EQ(fault_in(file_of(good + "," + result(R"("y": 1)", "1"))),
            "result 1: has other knobs than the first result");
  EXPECT_EQ(fault_in(file_of(result(R"("x": [1])", "1"))), "result 0: knob 'x' is no plain value");
  EXPECT_EQ(fault_in(file_of(good + "," + good)), "result 1: the same as result 0");
  EXPECT_EQ(fault_in(file_of(result(R"("x": 1)", "-1"))),
            "result 0: its time of -1 is not above 0");
  EXPECT_EQ(fault_in(file_of(result(R"("x": 1)", "\"?\""))), "result 0: 'value' is not a number");
  EXPECT_EQ(fault_in(file_of(result(R"("x": 1)", "1", "runtime"))),
            "none of its results is correct");
  EXPECT_THROW(read_recorded_space("/no/such/space.json"), Error);
}

}  // namespace
}  // namespace thresher::tune
