// SPDX-License-Identifier: Apache-2.0
// Ratios with their intervals on one axis of logarithms, a row each, as HTML with an SVG per row.
//
// Places along the axis are percentages and sizes are pixels, so that a plot fills any width
// without a script and its texts keep their size; labels stand in cells of their own and cannot
// meet. Colours are the style's. It prints, and every row says in words what it shows.
#pragma once

#include <string>
#include <vector>

#include "report/page.hpp"
#include "report/values.hpp"

namespace thresher::report {

enum class PlotMark {
  kClaim,     // hollow diamond with a thin range
  kMeasured,  // disc with the bar of its interval
  kReported,  // hollow triangle with a dashed range: somebody else's word
  kHeat,      // small ring: one of the many behind an interval
};

struct PlotPoint {
  PlotMark mark = PlotMark::kMeasured;
  Ratio ratio;
  std::string css_class = {};  // "good", "bad", "open"
};

struct PlotRow {
  Html label;
  std::string spoken;  // what the row shows, for those who cannot see it
  std::vector<PlotPoint> points;
  Html value;  // at its end
};

struct PlotLine {
  double at = 1;
  std::string words;      // in the legend
  std::string css_class;  // "one", "asked", "allowed"
};

struct Plot {
  std::string caption;
  std::vector<PlotRow> rows;
  std::vector<PlotLine> lines;
};

// Nothing where no row has a point. What lies beyond the axis ends in an arrow at its edge: the
// axis spans what was found and what was claimed of it, so that a boast about something that never
// ran does not squeeze the rest.
Html interval_plot(const Plot& plot);

// Where something lies on the axis of a plot, and where its numbers stand. For tests.
class LogAxis {
 public:
  explicit LogAxis(const std::vector<PlotRow>& rows);
  double percent(double ratio) const;  // 0 to 100, or beyond
  std::vector<double> ticks() const;   // 1 among them

 private:
  double low_ = 0;  // natural logarithms
  double high_ = 0;
};

}  // namespace thresher::report
