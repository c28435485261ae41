// SPDX-License-Identifier: Apache-2.0
#include "tank/season/scoreboard.hpp"

#include <cmath>
#include <set>

#include "referee/statistics/analysis.hpp"
#include "tank/season/seeds_season.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr double kRoundMax = 1e6;  // no season is that long; keeps the conversion to int defined

int round_of(const Json& json) {
  const double round = number_field(json, "round").value_or(0);
  return round >= 0 && round <= kRoundMax ? static_cast<int>(round) : 0;
}

Range range_of(const Json& speedup) {
  return {number_field(speedup, "value"), number_field(speedup, "low"),
          number_field(speedup, "high")};
}

// A round and a pitch in it.
using Key = std::pair<int, std::string>;

// The panel's forecasts of one pitch, each counted by its shark's credibility.
class PanelForecast {
 public:
  void add(const Json& ballot, double weight) {
    const Json& forecast = field(ballot, "forecast");
    add_to(median_, number_field(forecast, "log_speedup_median"), weight);
    add_to(low_, number_field(forecast, "log_speedup_low"), weight);
    add_to(high_, number_field(forecast, "log_speedup_high"), weight);
  }
  Range range() const { return {mean(median_), mean(low_), mean(high_)}; }

 private:
  struct Sum {
    double logs = 0;
    double weights = 0;
  };
  static void add_to(Sum& sum, std::optional<double> value, double weight) {
    if (!value) return;
    sum.logs += weight * *value;
    sum.weights += weight;
  }
  static std::optional<double> mean(const Sum& sum) {
    if (sum.weights == 0) return std::nullopt;
    return std::exp(sum.logs / sum.weights);
  }

  Sum median_;
  Sum low_;
  Sum high_;
};

class Reader {
 public:
  Scoreboard read(const Ledger& ledger, const std::string& season) {
    board_.season = season;
    const std::vector<LedgerEntry> entries = ledger.entries(season);
    for (const LedgerEntry& entry : entries) {
      board_.reported = board_.reported || entry.source == "reported";
      if (entry.source != "predicted") read(entry);
    }
    board_.forecasts = score_forecasts(entries);
    if (board_.reported && board_.credibilities.empty()) {
      for (RoundCredibilities& round : replayed_credibilities(entries)) {
        board_.credibilities.push_back({round.round, std::move(round.weights), std::nullopt});
      }
    }
    return std::move(board_);
  }

 private:
  void read(const LedgerEntry& entry) {
    const Json& data = entry.data;
    if (entry.kind == "season") {
      board_.suite = text_field(data, "suite");
      board_.backend = text_field(data, "backend");
      board_.device = device_of(field(data, "environment"));
      board_.champion = text_field(data, "champion");
      read_weights(field(data, "credibilities"));
    } else if (entry.kind == "pitch") {
      claims_[text_field(data, "name")] = range_of(field(data, "claim"));
    } else if (entry.kind == "ballot") {
      const auto weight = weights_.find(text_field(data, "shark"));
      forecasts_[{round_of(data), text_field(data, "pitch")}].add(
          data, weight == weights_.end() ? 1 : weight->second);
    } else if (entry.kind == "verdict") {
      add_row(entry, text_field(data, "pitch"), text_field(data, "kind"));
    } else if (entry.kind == "round") {
      // A winner without a verdict: nobody has said yet what it came to.
      if (!built_.contains({round_of(data), text_field(data, "winner")})) {
        add_row(entry, text_field(data, "winner"), text_field(data, "outcome"));
      }
    } else {
      read_rest(entry);
    }
  }

  void read_rest(const LedgerEntry& entry) {
    const Json& data = entry.data;
    if (entry.kind == "champion") {
      board_.champion = text_field(data, "champion");
      take_back_promises();
    } else if (entry.kind == "veto") {
      ++board_.veto_count;
    } else if (entry.kind == "credibility" && data.contains("weights")) {
      read_weights(data.at("weights"));
      board_.credibilities.push_back(
          {round_of(data), weights_, number_field(data, "effective_judges")});
    } else if (entry.kind == "sheet") {
      ++board_.sheet_count;
      if (!flag_field(data, "wrong")) return;
      board_.wrong_sheets.push_back(
          {round_of(data), text_field(data, "shark"), text_field(data, "pitch"),
           number_field(data, "total_on_sheet"), number_field(data, "total_recomputed")});
    } else if (entry.kind == "research" && data.contains("findings")) {
      board_.findings.clear();
      for (const Json& line : data.at("findings")) {
        if (line.is_string()) board_.findings.push_back(line.get<std::string>());
      }
    } else if (entry.kind == "end") {
      board_.ended = true;
    }
  }

  void take_back_promises() {
    for (ScoreboardRow& row : board_.rows) {
      if (!row.reported) row.reason = reason_without_title(row.reason);
    }
  }

  void read_weights(const Json& weights) {
    weights_.clear();
    for (const auto& [shark, weight] : weights.items()) {
      if (weight.is_number()) weights_[shark] = weight.get<double>();
    }
  }

  void add_row(const LedgerEntry& entry, const std::string& pitch, const std::string& verdict) {
    const Key key{round_of(entry.data), pitch};
    // A match that went on has several verdicts: the last one holds.
    std::erase_if(board_.rows, [&](const ScoreboardRow& row) {
      return row.round == key.first && row.pitch == pitch && !row.reported;
    });
    built_.insert(key);
    board_.rows.push_back({.round = key.first,
                           .pitch = pitch,
                           .control = flag_field(entry.data, "control"),
                           .claimed = claims_[pitch],
                           .predicted = forecasts_[key].range(),
                           .measured = range_of(field(entry.data, "speedup")),
                           .verdict = verdict,
                           .reason = text_field(entry.data, "reason"),
                           .reported = entry.source == "reported"});
  }

  Scoreboard board_;
  std::map<std::string, Range> claims_;
  std::map<std::string, double> weights_;
  std::map<Key, PanelForecast> forecasts_;
  std::set<Key> built_;
};

OrderedJson number_or_null(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson range_to_json(const Range& range) {
  if (!range.is_known()) return {};
  return {{"value", number_or_null(range.value)},
          {"low", number_or_null(range.low)},
          {"high", number_or_null(range.high)}};
}

OrderedJson range_to_json(const std::optional<ForecastRange>& range) {
  if (!range) return {};
  return {{"value", range->value}, {"low", range->low}, {"high", range->high}};
}

OrderedJson score_to_json(const std::optional<ForecastScore>& score) {
  if (!score) return {};
  return {{"crps", number_or_null(score->crps)},
          {"brier", number_or_null(score->brier)},
          {"loss", score->loss()}};
}

OrderedJson forecasts_to_json(const std::optional<ForecastScores>& scores) {
  if (!scores) return {};
  OrderedJson list = OrderedJson::array();
  for (const ScoredForecast& one : scores->forecasts) {
    list.push_back({{"what", one.is_time ? "time" : "speedup"},
                    {"suite", one.suite},
                    {one.is_time ? "problem" : "pitch", one.subject},
                    {"variant", one.variant},
                    {"refused", one.refused},
                    {"predicted", range_to_json(one.predicted)},
                    {"p_works", number_or_null(one.p_works)},
                    {"claimed", range_to_json(one.claimed)},
                    {"measured", range_to_json(one.measured)},
                    {"verdict", one.verdict},
                    {"score", score_to_json(one.score)}});
  }
  return {{"source", "predicted"},
          {"device", scores->device},
          {"sealed_utc", scores->sealed_utc},
          {"hash", scores->hash},
          {"fault", scores->fault},
          {"mean_loss", number_or_null(scores->mean_loss())},
          {"forecasts", std::move(list)}};
}

}  // namespace

std::string reason_without_title(const std::string& reason) {
  return without_promise(
      reason, "the title has changed since, and against the new champion it starts over");
}

std::string device_of(const Json& environment) {
  const std::string device = text_field(environment, "device");
  return device.empty() ? text_field(environment, "cpu") : device;
}

Scoreboard scoreboard(const Ledger& ledger, const std::string& season) {
  return Reader().read(ledger, season);
}

nlohmann::ordered_json to_ordered_json(const Scoreboard& board) {
  OrderedJson rows = OrderedJson::array();
  for (const ScoreboardRow& row : board.rows) {
    rows.push_back({{"round", row.round},
                    {"pitch", row.pitch},
                    {"control", row.control},
                    {"claimed", range_to_json(row.claimed)},
                    {"predicted", range_to_json(row.predicted)},
                    {"measured", range_to_json(row.measured)},
                    {"verdict", row.verdict},
                    {"reason", row.reason},
                    {"source", row.reported ? "reported" : "measured"}});
  }
  OrderedJson credibilities = OrderedJson::array();
  for (const CredibilityRow& row : board.credibilities) {
    credibilities.push_back({{"round", row.round},
                             {"weights", row.weights},
                             {"effective_judges", number_or_null(row.effective_judges)}});
  }
  OrderedJson sheets = OrderedJson::array();
  for (const WrongSheet& sheet : board.wrong_sheets) {
    sheets.push_back({{"round", sheet.round},
                      {"shark", sheet.shark},
                      {"pitch", sheet.pitch},
                      {"total_on_sheet", number_or_null(sheet.on_sheet)},
                      {"total_recomputed", number_or_null(sheet.recomputed)}});
  }
  return {{"season", board.season},
          {"suite", board.suite},
          {"backend", board.backend},
          {"device", board.device},
          {"source", board.reported ? "reported" : "measured"},
          {"ended", board.ended},
          {"champion", board.champion},
          {"rows", std::move(rows)},
          {"credibilities", std::move(credibilities)},
          {"wrong_sheets", std::move(sheets)},
          {"sheet_count", board.sheet_count},
          {"veto_count", board.veto_count},
          {"findings", board.findings},
          {"forecasts", forecasts_to_json(board.forecasts)}};
}

}  // namespace thresher
