// SPDX-License-Identifier: Apache-2.0
// Ballots from people and agents: a TOML file per shark.
//
//   shark = "Ada"
//   [[ballot]]
//   pitch = "pipeline_stages"
//   vote = true                    # at most one: the pick of this shark
//   p_works = 0.3                  # that it builds, is right and is accepted
//   speedup = 1.05                 # the median, then the 10 % and the 90 % quantile
//   speedup_low = 0.9
//   speedup_high = 1.2
//   reason = "decoding hides behind the multiplications already"
//   scores = { speedup = 3, evidence = 4, feasibility = 9, risk = 6 }
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>

#include "tank/panel/ballot.hpp"
#include "tank/pitch/toml_reader.hpp"

namespace thresher {
namespace {

constexpr std::size_t kVoteBytesMax = std::size_t{1} << 20;
// A forecast beyond this is a slip of the pen.
constexpr double kForecastSpeedupMax = 1000;

constexpr std::array<std::string_view, 2> kVoteFileKeys = {"shark", "ballot"};
constexpr std::array<std::string_view, 8> kBallotKeys = {
    "pitch", "vote", "p_works", "speedup", "speedup_low", "speedup_high", "reason", "scores"};

class VoteReader {
 public:
  VoteReader(std::string_view source_name, const Rubric& rubric)
      : toml_(source_name), rubric_(rubric) {}

  std::vector<Ballot> read(std::string_view text) {
    std::vector<Ballot> ballots;
    if (const std::optional<toml::table> root = toml_.parse(text, kVoteBytesMax)) {
      ballots = read_file(*root);
    }
    toml_.throw_faults();
    return ballots;
  }

 private:
  std::vector<Ballot> read_file(const toml::table& root) {
    toml_.check_keys(root, kVoteFileKeys, "a vote file");
    const std::string shark = read_name(root, "shark", "who votes");
    std::vector<Ballot> ballots;
    for (const toml::table* table : toml_.read_tables(root, "ballot")) {
      ballots.push_back(read_ballot(*table));
      ballots.back().shark = shark;
    }
    return ballots;
  }

  Ballot read_ballot(const toml::table& table) {
    toml_.check_keys(table, kBallotKeys, "a ballot");
    Ballot ballot;
    ballot.pitch = read_name(table, "pitch", "which pitch this ballot is about");
    if (!pitches_.insert(ballot.pitch).second) {
      toml_.note(table, fmt::format("a second ballot on {}", quote_value(ballot.pitch)));
    }
    ballot.vote = read_vote(table);
    ballot.reason = read_reason(table);
    ballot.forecast = read_forecast(table);
    ballot.scores = read_scores(table);
    return ballot;
  }

  std::string read_name(const toml::table& table, std::string_view key, std::string_view meaning) {
    const std::optional<std::string> name = toml_.read_line(table, key);
    if (!table.contains(key)) {
      toml_.note(table, fmt::format("{} is missing: {}", key, meaning));
    } else if (name && !is_name(*name)) {
      toml_.note(*table.get(key), fmt::format("{} is not a name", quote_value(*name)));
    }
    return name.value_or("");
  }

  bool read_vote(const toml::table& table) {
    const toml::node* node = table.get("vote");
    if (node == nullptr) return false;
    if (!node->is_boolean()) {
      toml_.note(*node, fmt::format("vote is {}; true or false is allowed", describe_type(*node)));
      return false;
    }
    const bool vote = node->as_boolean()->get();
    if (vote && has_voted_) toml_.note(*node, "a second vote; a shark has one in a round");
    has_voted_ = has_voted_ || vote;
    return vote;
  }

  std::string read_reason(const toml::table& table) {
    const std::optional<std::string> reason = toml_.read_line(table, "reason");
    if (!table.contains("reason") || (reason && reason->empty())) {
      toml_.note(table, "reason is missing: one sentence that says why");
    }
    return reason.value_or("");
  }

  Forecast read_forecast(const toml::table& table) {
    const double p_works = read_number(table, "p_works", 0, 1);
    const double median =
        read_number(table, "speedup", 1 / kForecastSpeedupMax, kForecastSpeedupMax);
    const double low =
        read_number(table, "speedup_low", 1 / kForecastSpeedupMax, kForecastSpeedupMax);
    const double high =
        read_number(table, "speedup_high", 1 / kForecastSpeedupMax, kForecastSpeedupMax);
    // Who is certain has an interval without width, which no measurement could hit.
    if (toml_.ok() && !(low <= median && median <= high && low < high)) {
      toml_.note(*table.get("speedup"),
                 fmt::format("speedup_low = {}, speedup = {}, speedup_high = {} are not in order",
                             low, median, high));
    }
    return {.p_works = p_works,
            .log_speedup_median = std::log(median),
            .log_speedup_low = std::log(low),
            .log_speedup_high = std::log(high)};
  }

  std::map<std::string, double> read_scores(const toml::table& table) {
    std::map<std::string, double> scores;
    const toml::node* node = table.get("scores");
    if (node == nullptr || !node->is_table()) {
      toml_.note(node == nullptr ? static_cast<const toml::node&>(table) : *node,
                 "scores is missing: a table of points from 0 to 10");
      return scores;
    }
    std::vector<std::string_view> dimensions;
    for (const auto& [dimension, weight] : rubric_.weights) dimensions.push_back(dimension);
    toml_.check_keys(*node->as_table(), dimensions, fmt::format("rubric {}", rubric_.name));
    for (const std::string_view dimension : dimensions) {
      scores.emplace(dimension, read_number(*node->as_table(), dimension, 0, kScoreMax));
    }
    return scores;
  }

  // 1 when there is a fault, which every allowed range contains.
  double read_number(const toml::table& table, std::string_view key, double low, double high) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      toml_.note(table, fmt::format("{} is missing: a number from {} to {}", key, low, high));
      return 1;
    }
    const std::optional<double> value = node->value<double>();
    if (!node->is_number() || !(*value >= low && *value <= high)) {
      toml_.note(*node, fmt::format("{} is not a number from {} to {}", key, low, high));
      return 1;
    }
    return *value;
  }

  TomlReader toml_;
  const Rubric& rubric_;
  std::set<std::string> pitches_;
  bool has_voted_ = false;
};

}  // namespace

std::vector<Ballot> parse_votes(std::string_view toml, std::string_view source_name,
                                const Rubric& rubric) {
  return VoteReader(source_name, rubric).read(toml);
}

std::vector<Ballot> load_votes(const std::filesystem::path& path, const Rubric& rubric) {
  return parse_votes(read_start(path, "votes", kVoteBytesMax), path.string(), rubric);
}

}  // namespace thresher
