// SPDX-License-Identifier: Apache-2.0
#include "report/lines.hpp"

#include <gtest/gtest.h>

namespace thresher::report {
namespace {

bool ends_at(double x_max, const std::string& middle, const std::string& end) {
  const LineChart chart{.caption = "a search",
                        .x_unit = " s",
                        .lines = {{"the search", "search", {{0, 1}, {x_max, 1.25}}}}};
  const std::string html = line_chart(chart).text();
  return html.find(">" + middle + "<") != std::string::npos &&
         html.find(">" + end + " s<") != std::string::npos;
}

TEST(LineChart, ItsAxisHasNumbersThatPeopleRead) {
  EXPECT_TRUE(ends_at(31.58, "15.8", "31.6"));
  EXPECT_TRUE(ends_at(0.5975, "0.299", "0.598"));
  EXPECT_TRUE(ends_at(2226, "1113", "2226")) << "thousands of trials are no power of ten";
}

TEST(LineChart, IsNothingWithoutALine) {
  EXPECT_TRUE(line_chart({.lines = {{"the search", "search", {{0, 1}}}}}).is_empty());
}

}  // namespace
}  // namespace thresher::report
