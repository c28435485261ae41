// SPDX-License-Identifier: Apache-2.0
#include "report/plot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace thresher::report {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

PlotRow row(const Ratio& claim, const Ratio& measured) {
  PlotRow made{.label = "label", .spoken = "spoken"};
  if (claim.is_known()) made.points.push_back({PlotMark::kClaim, claim});
  if (measured.is_known()) made.points.push_back({PlotMark::kMeasured, measured, "good"});
  return made;
}

void expect_readable(const LogAxis& axis) {
  const std::vector<double> ticks = axis.ticks();
  EXPECT_NE(std::find_if(ticks.begin(), ticks.end(),
                         [](double tick) { return std::abs(tick - 1) < 1e-9; }),
            ticks.end());
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    EXPECT_GE(axis.percent(ticks[i]) - axis.percent(ticks[i - 1]), 14) << ticks[i];
  }
}

TEST(LogAxis, HoldsWhatItSpansAndOne) {
  const LogAxis axis({row({2, 1.5, 3}, {1.2, 1.1, 1.3}), row({}, {0.4, 0.35, 0.45})});
  for (const double ratio : {0.35, 1.0, 3.0}) {
    EXPECT_GT(axis.percent(ratio), 0);
    EXPECT_LT(axis.percent(ratio), 100);
  }
  EXPECT_NEAR(axis.percent(4) - axis.percent(2), axis.percent(2) - axis.percent(1), 1e-9);
  expect_readable(axis);
  EXPECT_EQ(axis.ticks(), (std::vector<double>{0.5, 1, 2}));
}

TEST(LogAxis, NumbersHaveRoomOnEveryScale) {
  for (const double end : {1.0, 1.002, 1.07, 1.3, 2.0, 7.0, 60.0, 1e4, 1e9}) {
    SCOPED_TRACE(end);
    const LogAxis up({row({}, {end, 1, end})});
    const LogAxis both({row({}, {end, 1 / end, end}), row({}, {1 / end})});
    expect_readable(up);
    expect_readable(both);
    EXPECT_LE(both.ticks().size(), 8U);
  }
}

TEST(LogAxis, ABoastThatNeverRanDoesNotSqueezeTheRest) {
  const LogAxis axis({row({1.5, 1.2, 1.8}, {1.3, 1.2, 1.4}), row({22, 10, 50}, {})});
  EXPECT_GT(axis.percent(10), 100);
  const LogAxis alone({row({22, 10, 50}, {})});
  EXPECT_LT(alone.percent(50), 100) << "nothing else is there to be squeezed";
}

TEST(LogAxis, OpenAndUnusableEndsAreHeldOff) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const LogAxis axis({row({}, {1.2, 0, kInfinity}), row({}, {nan, nan, nan}), row({}, {-1, -2, 0}),
                      row({}, {1.1, 1e-9, 1e9})});
  EXPECT_GT(axis.percent(8), 100);
  EXPECT_LT(axis.percent(0.1), 0);
  expect_readable(axis);
}

TEST(IntervalPlot, ClaimsAreHollowAndMeasurementsFilled) {
  const std::string html =
      interval_plot({.caption = "c", .rows = {row({2, 1.5, 3}, {1.2, 1.1, 1.3})}}).text();
  EXPECT_NE(html.find("mark claim"), std::string::npos);
  EXPECT_NE(html.find("mark measured good"), std::string::npos);
  EXPECT_NE(html.find("range measured good"), std::string::npos);
  EXPECT_NE(html.find("aria-label=\"spoken\""), std::string::npos);
  EXPECT_EQ(html.find("mark reported"), std::string::npos);
}

// An interval narrower than its disc is seen by its ends, which reach beyond the disc.
TEST(IntervalPlot, AnIntervalHasEnds) {
  const std::string html =
      interval_plot({.rows = {row({2, 1.5, 3}, {1.2, 1.1999, 1.2001})}}).text();
  const std::string picture = html.substr(0, html.find("legend"));
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = picture.find("range measured end good", at)) != std::string::npos;
       ++at) {
    ++ends;
  }
  EXPECT_EQ(ends, 2U);
  EXPECT_EQ(picture.find("range claim end"), std::string::npos);
}

// A mark that stands for all verdicts has the colour of none.
TEST(IntervalPlot, TheLegendIsGrey) {
  const std::string html = interval_plot({.rows = {row({2, 1.5, 3}, {1.2, 1.1, 1.3})}}).text();
  const std::string legend = html.substr(html.find("legend"));
  EXPECT_NE(legend.find("mark measured dim"), std::string::npos) << legend;
  EXPECT_EQ(legend.find("good"), std::string::npos) << legend;
}

TEST(IntervalPlot, WhatLiesBeyondEndsInAnArrow) {
  const std::string html =
      interval_plot({.rows = {row({}, {1.2, 0, kInfinity}), row({22, 10, 50}, {})}}).text();
  std::size_t arrows = 0;
  for (std::size_t at = html.find("mark arrow"); at != std::string::npos;
       at = html.find("mark arrow", at + 1)) {
    ++arrows;
  }
  EXPECT_EQ(arrows, 4U) << "both open ends, the claim's range and its middle";
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf"), std::string::npos);
}

TEST(IntervalPlot, NothingToShowIsNothing) {
  EXPECT_TRUE(interval_plot({.rows = {}}).is_empty());
  EXPECT_TRUE(interval_plot({.rows = {row({}, {})}}).is_empty());
}

TEST(IntervalPlot, TextsStayText) {
  PlotRow hostile = row({}, {1.2, 1.1, 1.3});
  hostile.label = "<b>";
  hostile.spoken = "\"><script>";
  const std::string html = interval_plot({.caption = "<i>", .rows = {hostile}}).text();
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_EQ(html.find("<i>"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace thresher::report
