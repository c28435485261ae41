// SPDX-License-Identifier: Apache-2.0
// What the champion is worth against the baseline, problem by problem, and who held the title.
#include <fmt/format.h>

#include <cmath>

#include "report/season.hpp"
#include "report/variant_words.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

// Sums of logarithms, and of squared distances to the ends of independent intervals.
class Product {
 public:
  // False where the factor has no value to multiply by.
  bool multiply(const Ratio& factor) {
    if (!factor.value || !(*factor.value > 0)) return false;
    log_ += std::log(*factor.value);
    add(low_squares_, factor.low, *factor.value);
    add(high_squares_, factor.high, *factor.value);
    return true;
  }
  Ratio ratio() const {
    return {.value = std::exp(log_),
            .low = std::exp(log_ - std::sqrt(low_squares_)),
            .high = std::exp(log_ + std::sqrt(high_squares_))};
  }

 private:
  // An end that nobody knows is as far away as can be.
  static void add(double& squares, std::optional<double> end, double value) {
    const double distance = end ? std::log(*end / value) : std::numeric_limits<double>::infinity();
    squares += distance * distance;
  }

  double log_ = 0;
  double low_squares_ = 0;
  double high_squares_ = 0;
};

struct ProblemGain {
  std::string problem;
  Product product;
  std::optional<double>
      first_us;  // of the baseline in the first match, of the champion in the last
  std::optional<double> last_us;
};

const Json& problems_of(const Season& season, const Title& title) {
  static const Json none;
  const LedgerEntry* match = title.verdict ? season.match(*title.verdict) : nullptr;
  return match ? field(field(field(match->data, "verdict"), "estimate"), "problems") : none;
}

const Json& problem_named(const Json& problems, const std::string& name) {
  static const Json none;
  for (const Json& problem : problems) {
    if (text_of(problem, "problem") == name) return problem;
  }
  return none;
}

// Problems that every match on the way has timed.
std::vector<ProblemGain> problem_gains(const Season& season) {
  const std::vector<Title> titles = season.titles();
  std::vector<ProblemGain> gains;
  if (titles.empty()) return gains;
  for (const Json& first : problems_of(season, titles.front())) {
    ProblemGain gain{.problem = text_of(first, "problem"),
                     .first_us = number_of(field(first, "champion_us"))};
    bool is_complete = true;
    for (const Title& title : titles) {
      const Json& problem = problem_named(problems_of(season, title), gain.problem);
      is_complete = is_complete && gain.product.multiply(ratio_of(field(problem, "speedup")));
      gain.last_us = number_of(field(problem, "challenger_us"));
    }
    if (is_complete) gains.push_back(gain);
  }
  return gains;
}

Html gain_table(const Season& season) {
  HtmlTable table("The champion against the baseline, in µs per call", {{"Problem", false, "name"},
                                                                        {"Baseline", true},
                                                                        {"Champion", true},
                                                                        {"Gain", true, "gained"}});
  for (const ProblemGain& gain : problem_gains(season)) {
    const Ratio ratio = gain.product.ratio();
    table.add_row({gain.problem, number(gain.first_us, 1), number(gain.last_us, 1),
                   speedup(ratio.value, 2) + " " + small(interval(ratio, 2))});
  }
  return table.html();
}

Html big_number(const Season& season) {
  const std::optional<Gain> gain = gain_of(season);
  if (!gain) return {};
  Html under = gain->is_reported ? source_badge("reported") : interval(gain->ratio, 2);
  under += gain->match_count == 1
               ? Html(" in the match that changed the title")
               : Html(fmt::format(" multiplied up from the {} matches that changed the title",
                                  gain->match_count));
  return element("p",
                 element("strong", speedup(gain->ratio.value, 2)) +
                     element("span", "the baseline's speed", {{"class", "unit"}}) + small(under),
                 {{"class", "figure"}}) +
         "\n";
}

Html title_item(const Title& title) {
  const Ratio ratio = title.verdict ? ratio_of(field(title.verdict->data, "speedup")) : Ratio();
  Html line = element("strong", title.pitch) + fmt::format(" round {}", title.round);
  if (ratio.is_known()) line += ", " + speedup(ratio.middle()) + " its predecessor's speed";
  if (title.is_reported) line += " " + source_badge("reported");
  if (title.champion != title.pitch) line += variant_html(title.champion, title.words);
  return element("li", line);
}

// From where to where, as words that open to the variants' names; who held the title in between is
// behind a fold.
Html title_holders(const Season& season) {
  const LedgerEntry* start = season.start();
  const std::vector<Title> titles = season.titles();
  const std::string first = start ? text_of(start->data, "champion") : "";
  Html items = element(
      "li", element("strong", "baseline") + (first == "baseline" ? Html() : variant_html(first)));
  Html between;
  for (std::size_t i = 0; i + 1 < titles.size(); ++i) between += title_item(titles[i]);
  if (!between.is_empty()) {
    items += element("li", fold(fmt::format("{} more held the title in between", titles.size() - 1),
                                element("ol", between, {{"class", "titles"}})));
  }
  if (!titles.empty()) items += title_item(titles.back());
  return element("ol", items, {{"class", "titles"}, {"aria-label", "Who held the title"}}) + "\n";
}

}  // namespace

std::optional<Gain> gain_of(const Season& season) {
  const std::vector<Title> titles = season.titles();
  if (titles.empty()) return std::nullopt;
  Product product;
  Gain gain{.match_count = titles.size()};
  for (const Title& title : titles) {
    if (!title.verdict) return std::nullopt;
    if (!product.multiply(ratio_of(field(title.verdict->data, "speedup")))) return std::nullopt;
    gain.is_reported = gain.is_reported || title.is_reported;
  }
  gain.ratio = product.ratio();
  if (gain.is_reported) gain.ratio = {.value = gain.ratio.value};
  return gain;
}

Html gain(const Season& season) {
  const Html figures = big_number(season) + gain_table(season);
  const Html side_by_side =
      figures.is_empty() ? Html() : element("div", figures, {{"class", "gain"}}) + "\n";
  const bool has_changed = !season.titles().empty();
  return heading(3, has_changed ? "The champion" : "The champion is still the baseline") +
         side_by_side + title_holders(season);
}

}  // namespace thresher::report
