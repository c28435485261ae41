// SPDX-License-Identifier: Apache-2.0
// Lines over time as a small chart: how the best found so far went up. Numbers of the axes are HTML
// and lines an SVG that is stretched to its place, so that a chart fills any width without a script
// and its texts keep their size.
#pragma once

#include <string>
#include <vector>

#include "report/page.hpp"

namespace thresher::report {

struct ChartPoint {
  double x = 0;
  double y = 0;
};

struct ChartLine {
  std::string words;      // in the legend
  std::string css_class;  // "search", "random"
  std::vector<ChartPoint> points;
};

struct LineChart {
  std::string caption;
  std::string x_unit;  // behind the numbers: " s"
  std::vector<ChartLine> lines;
  bool is_steps = true;  // what was found stays found until something better is
};

// Nothing where no line has two points. Points that are no numbers are left out.
Html line_chart(const LineChart& chart);

}  // namespace thresher::report
