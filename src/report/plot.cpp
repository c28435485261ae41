// SPDX-License-Identifier: Apache-2.0
#include "report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace thresher::report {
namespace {

constexpr double kSpanMin = 0.06;      // of logarithms: an axis never shows less than 6 %
constexpr double kEdge = 0.04;         // of the span, free on both sides
constexpr double kIntervalReach = 4;   // an interval's end widens the axis up to this factor
constexpr double kModestMax = 8;       // claims beyond it without a result do not widen the axis
constexpr double kTickSpacing = 14.0;  // percent between ticks, at least: room for a number
constexpr int kRowHeight = 30;
constexpr int kClaimY = 9;
constexpr int kResultY = 21;
constexpr int kEndReach = 8;  // from the middle: an end is seen beside a disc that is wider

bool is_usable(std::optional<double> value) { return value && std::isfinite(*value) && *value > 0; }

bool is_result(const PlotPoint& point) { return point.mark != PlotMark::kClaim; }

bool has_result(const PlotRow& row) {
  return std::any_of(row.points.begin(), row.points.end(), [](const PlotPoint& point) {
    return is_result(point) && is_usable(point.ratio.middle());
  });
}

// Near enough to 1 to be shown although nothing came of it.
bool is_modest(const PlotPoint& point) {
  const std::optional<double> middle = point.ratio.middle();
  return is_usable(middle) && std::abs(std::log(*middle)) < std::log(kModestMax);
}

struct Span {
  double low = 0;  // holds ln 1
  double high = 0;

  void include(double ratio) {
    low = std::min(low, std::log(ratio));
    high = std::max(high, std::log(ratio));
  }
};

void include_point(Span& span, const PlotPoint& point) {
  const std::optional<double> middle = point.ratio.middle();
  if (!is_usable(middle)) return;
  span.include(*middle);
  for (const std::optional<double>& end : {point.ratio.low, point.ratio.high}) {
    if (is_usable(end)) {
      span.include(std::clamp(*end, *middle / kIntervalReach, *middle * kIntervalReach));
    }
  }
}

// Numbers that people like on an axis, from few to many. Multiples of `step` lie evenly, others are
// the factors of every power of ten.
std::vector<double> even_ticks(double low, double high, double step) {
  std::vector<double> ticks;
  if ((high - low) / step > 100) return ticks;
  for (double n = std::ceil(low / step - 1e-9); n * step <= high * (1 + 1e-9); ++n) {
    if (n > 0) ticks.push_back(n * step);
  }
  return ticks;
}

std::vector<double> decade_ticks(double low, double high, const std::vector<double>& factors) {
  std::vector<double> ticks;
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= last; ++power) {
    for (const double factor : factors) {
      const double tick = factor * std::pow(10.0, power);
      if (tick >= low && tick <= high) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::string at(double percent) { return fmt::format("{:.2f}%", percent); }

Html shape(const char* mark, double percent, int y, const std::string& css_class,
           const char* path) {
  return Html::markup(fmt::format(
      R"(<svg x="{}" y="{}" overflow="visible"><path class="mark {} {}" d="{}"/></svg>)",
      at(percent), y, mark, css_class, path));
}

Html bar(const char* mark, double from, double to, int y, const std::string& css_class) {
  return Html::markup(fmt::format(R"(<line class="range {} {}" x1="{}" x2="{}" y1="{}" y2="{}"/>)",
                                  mark, css_class, at(from), at(to), y, y));
}

// At the edge that `percent` lies beyond.
Html arrow(double percent, int y, const std::string& css_class) {
  return percent > 100 ? shape("arrow", 100, y, css_class, "M-7-4L0 0L-7 4Z")
                       : shape("arrow", 0, y, css_class, "M7-4L0 0L7 4Z");
}

const char* name_of(PlotMark mark) {
  switch (mark) {
    case PlotMark::kClaim:
      return "claim";
    case PlotMark::kMeasured:
      return "measured";
    case PlotMark::kReported:
      return "reported";
    case PlotMark::kHeat:
      return "heat";
  }
  return "";
}

const char* path_of(PlotMark mark) {
  switch (mark) {
    case PlotMark::kClaim:
      return "M0-5L5 0L0 5L-5 0Z";
    case PlotMark::kReported:
      return "M0-5L5 4L-5 4Z";
    case PlotMark::kHeat:
      return "M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0Z";
    case PlotMark::kMeasured:
      break;
  }
  return "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0Z";
}

int lane_of(PlotMark mark) {
  if (mark == PlotMark::kClaim) return kClaimY;
  return mark == PlotMark::kHeat ? kClaimY : kResultY;
}

// An end that is open or unknown reaches the edge; one that is missing has no bar.
std::optional<double> end_percent(const LogAxis& axis, std::optional<double> end) {
  if (!end || std::isnan(*end)) return std::nullopt;
  if (*end <= 0) return -1;
  return std::isinf(*end) ? 101 : axis.percent(*end);
}

Html vertical_bar(const char* mark, double percent, int y, const std::string& css_class) {
  return Html::markup(
      fmt::format(R"(<line class="range {} end {}" x1="{}" x2="{}" y1="{}" y2="{}"/>)", mark,
                  css_class, at(percent), at(percent), y - kEndReach, y + kEndReach));
}

// The bar of an interval with its ends.
Html interval_bar(const PlotPoint& point, double low, double high) {
  const char* const name = name_of(point.mark);
  const int y = lane_of(point.mark);
  Html html =
      bar(name, std::clamp(low, 0.0, 100.0), std::clamp(high, 0.0, 100.0), y, point.css_class);
  if (point.mark != PlotMark::kMeasured) return html;
  for (const double end : {low, high}) {
    if (end >= 0 && end <= 100) html += vertical_bar(name, end, y, point.css_class);
  }
  return html;
}

Html point_html(const LogAxis& axis, const PlotPoint& point) {
  const std::optional<double> middle = point.ratio.middle();
  const int y = lane_of(point.mark);
  const std::string at_edge = is_result(point) ? point.css_class : "dim";
  const char* const name = name_of(point.mark);
  const std::optional<double> low = end_percent(axis, point.ratio.low);
  const std::optional<double> high = end_percent(axis, point.ratio.high);
  Html html;
  if (low && high && *low < *high) {
    html += interval_bar(point, *low, *high);
    if (*low < 0) html += arrow(*low, y, at_edge);
    if (*high > 100) html += arrow(*high, y, at_edge);
  }
  if (!is_usable(middle)) return html;
  const double x = axis.percent(*middle);
  if (x < 0 || x > 100) return html + arrow(x, y, at_edge);
  return html + shape(name, x, y, point.css_class, path_of(point.mark));
}

Html vertical(double percent, const std::string& css_class, int height) {
  return Html::markup(fmt::format(R"(<line class="{}" x1="{}" x2="{}" y1="0" y2="{}"/>)", css_class,
                                  at(percent), at(percent), height));
}

Html grid(const LogAxis& axis, const std::vector<PlotLine>& lines) {
  Html html;
  for (const double tick : axis.ticks()) html += vertical(axis.percent(tick), "grid", kRowHeight);
  for (const PlotLine& line : lines) {
    const double x = axis.percent(line.at);
    if (x >= 0 && x <= 100) html += vertical(x, line.css_class, kRowHeight);
  }
  return html;
}

Html svg(const Html& content, int height, const Attributes& more) {
  Attributes attributes{{"width", "100%"}, {"height", fmt::format("{}", height)}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return element("svg", content, attributes);
}

Html row_html(const LogAxis& axis, const PlotRow& row, const Html& behind) {
  Html points;
  for (const PlotPoint& point : row.points) points += point_html(axis, point);
  return element("div",
                 element("span", row.label, {{"class", "plot-label"}}) +
                     svg(element("title", row.spoken) + behind + points, kRowHeight,
                         {{"role", "img"}, {"aria-label", row.spoken}}) +
                     element("span", row.value, {{"class", "plot-value"}}),
                 {{"class", "plot-row"}}) +
         "\n";
}

Html axis_html(const LogAxis& axis) {
  Html numbers;
  for (const double tick : axis.ticks()) {
    numbers += Html::markup(fmt::format(R"(<text class="tick" x="{}" y="14">{:.4g}x</text>)",
                                        at(axis.percent(tick)), tick));
  }
  return element("div",
                 element("span", "") + svg(numbers, 18, {{"aria-hidden", "true"}}) +
                     element("span", ""),
                 {{"class", "plot-row plot-axis"}}) +
         "\n";
}

// A picture of a mark or a line, with its words.
Html legend_item(const Html& picture, const std::string& words) {
  return element("span",
                 Html::markup(R"(<svg width="26" height="12" aria-hidden="true">)") + picture +
                     Html::markup("</svg> ") + words,
                 {{"class", "legend-item"}});
}

Html mark_item(PlotMark mark, const std::string& words) {
  constexpr int kMiddleY = 6;
  // Grey: the colours in the plot are those of verdicts.
  Html picture = bar(name_of(mark), 4, 96, kMiddleY, "dim");
  if (mark == PlotMark::kMeasured) {
    for (const double end : {4.0, 96.0})
      picture += vertical_bar(name_of(mark), end, kMiddleY, "dim");
  }
  return legend_item(picture + shape(name_of(mark), 50, kMiddleY, "dim", path_of(mark)), words);
}

bool uses(const Plot& plot, PlotMark mark) {
  return std::any_of(plot.rows.begin(), plot.rows.end(), [&](const PlotRow& row) {
    return std::any_of(row.points.begin(), row.points.end(),
                       [&](const PlotPoint& point) { return point.mark == mark; });
  });
}

Html legend(const Plot& plot) {
  Html items;
  if (uses(plot, PlotMark::kClaim)) items += mark_item(PlotMark::kClaim, "claimed, with its range");
  if (uses(plot, PlotMark::kMeasured)) {
    items += mark_item(PlotMark::kMeasured,
                       "measured, with its 95 % interval, in the colour of its verdict");
  }
  if (uses(plot, PlotMark::kReported)) {
    items += mark_item(PlotMark::kReported, "reported by others, with its range");
  }
  if (uses(plot, PlotMark::kHeat)) {
    items += legend_item(shape("heat", 50, 6, "plain", path_of(PlotMark::kHeat)), "one heat");
  }
  for (const PlotLine& line : plot.lines) {
    items += legend_item(vertical(50, line.css_class, 12), line.words);
  }
  return element("div", items, {{"class", "legend"}}) + "\n";
}

}  // namespace

LogAxis::LogAxis(const std::vector<PlotRow>& rows) {
  const bool any_result = std::any_of(rows.begin(), rows.end(), has_result);
  Span span;
  for (const PlotRow& row : rows) {
    for (const PlotPoint& point : row.points) {
      const bool is_idle = any_result && !has_result(row);
      if (!is_idle || is_modest(point)) include_point(span, point);
    }
  }
  const double missing = std::max(0.0, kSpanMin - (span.high - span.low));
  const double width = span.high - span.low + missing;
  low_ = span.low - missing / 2 - kEdge * width;
  high_ = span.high + missing / 2 + kEdge * width;
}

double LogAxis::percent(double ratio) const {
  return 100 * (std::log(ratio) - low_) / (high_ - low_);
}

std::vector<double> LogAxis::ticks() const {
  const double low = std::exp(low_);
  const double high = std::exp(high_);
  std::vector<double> best{1};
  const auto consider = [&](const std::vector<double>& ticks) {
    if (ticks.size() < 2 || ticks.size() < best.size()) return;
    for (std::size_t i = 1; i < ticks.size(); ++i) {
      if (percent(ticks[i]) - percent(ticks[i - 1]) < kTickSpacing) return;
    }
    best = ticks;
  };
  for (const int power : {3, 2, 1}) {
    // Every third, second or single power of ten; 1 is always one of them.
    std::vector<double> ticks = decade_ticks(low, high, {1});
    std::erase_if(ticks, [&](double tick) {
      return static_cast<int>(std::lround(std::log10(tick))) % power != 0;
    });
    consider(ticks);
  }
  consider(decade_ticks(low, high, {1, 3}));
  consider(decade_ticks(low, high, {1, 2, 5}));
  for (const double step : {0.5, 0.25, 0.2, 0.1, 0.05, 0.02, 0.01}) {
    consider(even_ticks(low, high, step));
  }
  return best;
}

Html interval_plot(const Plot& plot) {
  const bool is_empty = std::all_of(plot.rows.begin(), plot.rows.end(),
                                    [](const PlotRow& row) { return row.points.empty(); });
  if (is_empty) return {};
  const LogAxis axis(plot.rows);
  const Html behind = grid(axis, plot.lines);
  Html rows;
  for (const PlotRow& row : plot.rows) rows += row_html(axis, row, behind);
  return element("figure",
                 element("figcaption", plot.caption) + rows + axis_html(axis) + legend(plot),
                 {{"class", "plot"}}) +
         "\n";
}

}  // namespace thresher::report
