// SPDX-License-Identifier: Apache-2.0
#include "report/lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace thresher::report {
namespace {

constexpr double kFlatSpan = 0.02;  // an axis of values never shows less

struct ChartFrame {
  double x_max = 0;
  double y_min = std::numeric_limits<double>::infinity();
  double y_max = -std::numeric_limits<double>::infinity();

  double x(double value) const { return 1000 * value / x_max; }
  double y(double value) const { return 1000 * (y_max - value) / (y_max - y_min); }
};

// Three digits are enough, and thousands of trials no power of ten.
std::string short_number(double value) {
  return value < 1000 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

bool is_drawn(const ChartPoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && point.x >= 0;
}

ChartFrame frame_of(const std::vector<ChartLine>& lines) {
  ChartFrame frame;
  for (const ChartLine& line : lines) {
    for (const ChartPoint& point : line.points) {
      if (!is_drawn(point)) continue;
      frame.x_max = std::max(frame.x_max, point.x);
      frame.y_min = std::min(frame.y_min, point.y);
      frame.y_max = std::max(frame.y_max, point.y);
    }
  }
  const double missing = std::max(0.0, kFlatSpan - (frame.y_max - frame.y_min));
  frame.y_min -= missing / 2;
  frame.y_max += missing / 2;
  return frame;
}

// What was found last holds to the right edge.
Html line_html(const ChartFrame& frame, const ChartLine& line, bool is_steps) {
  std::string path;
  for (const ChartPoint& point : line.points) {
    if (!is_drawn(point)) continue;
    const double x = frame.x(point.x);
    const double y = frame.y(point.y);
    if (path.empty()) {
      path = fmt::format("M{:.1f} {:.1f}", x, y);
    } else {
      path += is_steps ? fmt::format("H{:.1f}V{:.1f}", x, y) : fmt::format("L{:.1f} {:.1f}", x, y);
    }
  }
  if (is_steps) path += "H1000";
  return Html::markup(fmt::format(R"(<path class="line {}" d="{}"/>)", line.css_class, path));
}

std::string spoken(const LineChart& chart) {
  std::string text = chart.caption;
  for (const ChartLine& line : chart.lines) {
    if (line.points.empty()) continue;
    text += fmt::format("; {}: {:.3f} at the end", line.words, line.points.back().y);
  }
  return text;
}

Html axis(const char* css_class, const std::vector<std::string>& numbers) {
  Html html;
  for (const std::string& number : numbers) html += element("span", number);
  return element("div", html, {{"class", css_class}, {"aria-hidden", "true"}});
}

Html chart_legend(const std::vector<ChartLine>& lines) {
  Html items;
  for (const ChartLine& line : lines) {
    items += element("span",
                     Html::markup(fmt::format(
                         R"(<svg width="26" height="12" aria-hidden="true"><path class="line {}" )"
                         R"(d="M0 6H26"/></svg> )",
                         line.css_class)) +
                         line.words,
                     {{"class", "legend-item"}});
  }
  return element("div", items, {{"class", "legend"}});
}

}  // namespace

Html line_chart(const LineChart& chart) {
  const bool has_line =
      std::any_of(chart.lines.begin(), chart.lines.end(), [](const ChartLine& line) {
        return std::count_if(line.points.begin(), line.points.end(), is_drawn) > 1;
      });
  if (!has_line) return {};
  const ChartFrame frame = frame_of(chart.lines);
  if (!(frame.x_max > 0)) return {};
  Html lines = element("title", spoken(chart));
  for (const ChartLine& line : chart.lines) lines += line_html(frame, line, chart.is_steps);
  const double y_middle = (frame.y_min + frame.y_max) / 2;
  return element("figure",
                 element("figcaption", chart.caption) +
                     axis("chart-y",
                          {fmt::format("{:.3f}", frame.y_max), fmt::format("{:.3f}", y_middle),
                           fmt::format("{:.3f}", frame.y_min)}) +
                     element("svg", lines,
                             {{"viewBox", "0 0 1000 1000"},
                              {"preserveAspectRatio", "none"},
                              {"role", "img"},
                              {"aria-label", spoken(chart)}}) +
                     axis("chart-x", {"0", short_number(frame.x_max / 2),
                                      short_number(frame.x_max) + chart.x_unit}) +
                     chart_legend(chart.lines),
                 {{"class", "chart"}}) +
         "\n";
}

}  // namespace thresher::report
