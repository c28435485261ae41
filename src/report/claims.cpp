// SPDX-License-Identifier: Apache-2.0
// Claims against results: a row per verdict, what the pitch promised above what came of it.
#include <fmt/format.h>

#include <map>

#include "report/plot.hpp"
#include "report/season.hpp"

namespace thresher::report {
namespace {

std::string plain(const Ratio& ratio) {
  if (!ratio.middle()) return "nothing";
  std::string text = fmt::format("{:.3f}x", *ratio.middle());
  if (ratio.low && ratio.high) text += fmt::format(" ({:.3f} to {:.3f})", *ratio.low, *ratio.high);
  return text;
}

// A pitch that was judged more than once is told apart by its round.
Html label_of(const ScoreboardRow& row, const std::map<std::string, int>& counts) {
  const Html name = element("strong", row.pitch);
  return counts.at(row.pitch) > 1 ? name + small(fmt::format("round {}", row.round)) : name;
}

PlotRow row_of(const Season& season, const ScoreboardRow& row, const Html& label) {
  const LedgerEntry* verdict = season.verdict(row.round, row.pitch);
  const Ratio claim = ratio_of(row.claimed);
  const Ratio result = verdict ? ratio_of(field(verdict->data, "speedup")) : Ratio();
  const bool is_ours = verdict != nullptr && is_measured(*verdict);
  const std::string verb = is_ours ? "measured" : "reported";
  PlotRow plotted{.label = label,
                  .spoken = fmt::format("{}, round {}: claimed {}, {} {}, {}", row.pitch, row.round,
                                        plain(claim), verb, plain(result), row.verdict),
                  .value = verdict_badge(row.verdict.empty() ? "open" : row.verdict)};
  if (claim.is_known()) plotted.points.push_back({PlotMark::kClaim, claim});
  if (result.is_known()) {
    plotted.points.push_back(
        {is_ours ? PlotMark::kMeasured : PlotMark::kReported, result, verdict_class(row.verdict)});
    plotted.value = element("span", speedup(result.middle(), 2), {{"class", "plot-number"}}) + " " +
                    plotted.value;
  }
  return plotted;
}

}  // namespace

Html claims(const Season& season) {
  std::map<std::string, int> counts;
  for (const ScoreboardRow& row : season.board.rows) ++counts[row.pitch];
  const std::string results = season.is_reported()    ? "what was reported"
                              : season.board.reported ? "results"
                                                      : "measurements";
  Plot plot{.caption =
                "Speedup over the champion of the round, on a logarithmic scale. An arrow at the "
                "edge points to what lies beyond it.",
            .lines = {{1, "as fast as the champion", "one"}}};
  for (const ScoreboardRow& row : season.board.rows) {
    plot.rows.push_back(row_of(season, row, label_of(row, counts)));
  }
  const Html picture = interval_plot(plot);
  return picture.is_empty() ? Html() : heading(3, "Claims against " + results) + picture;
}

}  // namespace thresher::report
