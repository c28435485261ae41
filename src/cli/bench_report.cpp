// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/ceiling_doubt.hpp"
#include "cli/selection.hpp"
#include "cli/table.hpp"
#include "measure/statistics.hpp"

namespace thresher::cli {
namespace {

using Json = nlohmann::ordered_json;
using measure::TimedApart;
using measure::Timing;

// The half-width of the interval in percent of the median.
std::string spread_text(const measure::MedianInterval& us) {
  const double half_width = std::max(us.high - us.median, us.median - us.low);
  return fmt::format("{:.1f}%", 100 * half_width / us.median);
}

std::string us_text(double us) {
  return us < 1000 ? fmt::format("{:.1f}", us) : fmt::format("{:.0f}", us);
}

double ratio_against(const BenchRow& row, const Timing& peer) {
  return peer.us.median / row.timing.us.median;
}

Tone tone_of(const Timing& timing) {
  return timing.first_failure.empty() ? Tone::kPlain : Tone::kBad;
}

Cell error_cell(const Timing& timing) {
  return {fmt::format("{:.3f}", timing.max_error_over_bound), tone_of(timing)};
}

Cell ratio_cell(const BenchRow& row, const Timing* peer) {
  if (peer == nullptr) return {"-"};
  return {fmt::format("{:.2f}x", ratio_against(row, *peer)), tone_of(*peer)};
}

// Not every problem has every peer.
const Timing* find_peer(const BenchRow& row, const std::string& name) {
  const auto found = std::find_if(row.peers.begin(), row.peers.end(),
                                  [&](const Timing& peer) { return peer.name == name; });
  return found == row.peers.end() ? nullptr : &*found;
}

std::vector<std::string> peer_names(const std::vector<BenchRow>& rows) {
  std::vector<std::string> names;
  for (const BenchRow& row : rows) {
    for (const Timing& peer : row.peers) names.push_back(peer.name);
  }
  return distinct(names);
}

struct BenchColumn {
  Column column;
  std::function<Cell(const BenchRow&)> cell;
};

std::vector<BenchColumn> number_columns() {
  const auto number = [](const char* title, auto text) {
    return BenchColumn{{title, Align::kRight}, [text](const BenchRow& row) { return text(row); }};
  };
  return {
      number("median us", [](const BenchRow& row) { return us_text(row.timing.us.median); }),
      number("+-", [](const BenchRow& row) { return spread_text(row.timing.us); }),
      number("GFLOP/s", [](const BenchRow& row) { return fmt::format("{:.1f}", row.gflops()); }),
      number("GB/s",
             [](const BenchRow& row) { return fmt::format("{:.1f}", row.weight_gb_per_s()); }),
      number("light", [](const BenchRow& row) { return share_text(row.share_of_light()); }),
      number("error", [](const BenchRow& row) { return error_cell(row.timing); })};
}

std::string op_of(const BenchRow& row) { return std::string(to_string(row.problem.op)); }
std::string variant_of(const BenchRow& row) { return row.variant; }

template <typename Text>
bool differs(const std::vector<BenchRow>& rows, Text text) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const BenchRow& row) { return text(row) != text(rows.front()); });
}

// Operation and variant have a column only where they differ; otherwise they stand in the heading.
std::vector<BenchColumn> columns_for(const std::vector<BenchRow>& rows) {
  std::vector<BenchColumn> columns{
      {{"problem"}, [](const BenchRow& row) { return Cell(row.problem.name); }}};
  if (differs(rows, op_of)) columns.push_back({{"op"}, op_of});
  if (differs(rows, variant_of)) columns.push_back({{"variant"}, variant_of});
  for (BenchColumn& column : number_columns()) columns.push_back(std::move(column));
  for (const std::string& name : peer_names(rows)) {
    columns.push_back({{name, Align::kRight}, [name](const BenchRow& row) {
                         return ratio_cell(row, find_peer(row, name));
                       }});
  }
  return columns;
}

void print_table(const std::vector<BenchRow>& rows) {
  const std::vector<BenchColumn> columns = columns_for(rows);
  std::vector<Column> titles;
  for (const BenchColumn& column : columns) titles.push_back(column.column);
  Table table(titles);
  for (const BenchRow& row : rows) {
    std::vector<Cell> cells;
    for (const BenchColumn& column : columns) cells.push_back(column.cell(row));
    table.add_row(std::move(cells));
  }
  print(table);
}

// The geomean over problems, where there is something to average.
std::string geomean_text(const std::vector<double>& ratios) {
  return ratios.empty() ? "none" : fmt::format("{:.2f}", measure::geomean(ratios));
}

void print_comparison(const std::string& peer, const std::vector<BenchRow>& rows) {
  std::vector<double> ratios;
  const BenchRow* least = nullptr;
  TimedApart apart;
  for (const BenchRow& row : rows) {
    const Timing* timing = find_peer(row, peer);
    if (timing == nullptr) continue;
    ratios.push_back(ratio_against(row, *timing));
    if (ratios.back() == *std::min_element(ratios.begin(), ratios.end())) least = &row;
    if (timing->apart.taken_off_us >= apart.taken_off_us) apart = timing->apart;
  }
  fmt::print("  against {}: geomean {}x, least {:.2f}x ({})\n", peer, geomean_text(ratios),
             ratio_against(*least, *find_peer(*least, peer)), least->problem.name);
  if (apart.how.empty()) return;
  fmt::print("    timed {}: {:.0f} us at most\n", apart.how, apart.taken_off_us);
}

void print_summary(const std::string& entrant, const std::vector<BenchRow>& rows) {
  std::vector<double> shares;
  for (const BenchRow& row : rows) {
    // What cannot be is no share to average.
    const double share = row.share_of_light();
    if (share > 0 && share <= 1) shares.push_back(share);
  }
  fmt::print("{}: geomean {} of the speed of light\n", entrant, geomean_text(shares));
  for (const std::string& name : peer_names(rows)) print_comparison(name, rows);
}

void print_heading(const std::vector<BenchRow>& rows) {
  const BenchLane& lane = rows.front().lane;
  std::string heading = lane.ceilings.title;
  if (!differs(rows, op_of)) heading += ", " + op_of(rows.front());
  if (!differs(rows, variant_of)) heading += ", " + variant_of(rows.front());
  fmt::print("{}\ntimed {}\nceilings {}\n", heading, rows.front().timed, lane.ceilings.text);
}

template <typename Keep>
std::vector<BenchRow> filtered(const std::vector<BenchRow>& rows, Keep keep) {
  std::vector<BenchRow> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), keep);
  return kept;
}

}  // namespace

double BenchRow::gflops() const { return flop_count(problem) / timing.us.median / 1e3; }
double BenchRow::weight_gb_per_s() const { return weight_bytes(problem) / timing.us.median / 1e3; }
double BenchRow::share_of_light() const { return light.floor_us() / timing.us.median; }

void print_json_line(const BenchRow& row) {
  Json peers = Json::object();
  Json peer_details = Json::object();
  for (const Timing& peer : row.peers) {
    peers[peer.name] = peer.us.median;
    peer_details[peer.name] = {{"low_us", peer.us.low},
                               {"high_us", peer.us.high},
                               {"max_error_over_bound", peer.max_error_over_bound}};
    if (!peer.apart.how.empty()) {
      peer_details[peer.name]["timed"] = peer.apart.how;
      peer_details[peer.name]["taken_off_us"] = peer.apart.taken_off_us;
    }
  }
  Json ceilings = Json::object();
  for (const auto& [name, value] : row.lane.ceilings.values) ceilings[name] = value;
  Json line{{"suite", row.suite},
            {"problem", row.problem.name},
            {"op", to_string(row.problem.op)},
            {"backend", row.lane.backend},
            {"device", row.lane.ceilings.title},
            {"timed", row.timed},
            {"variant", row.variant},
            {"threads", row.lane.thread_count},
            {"median_us", row.timing.us.median},
            {"low_us", row.timing.us.low},
            {"high_us", row.timing.us.high},
            {"gflops", row.gflops()},
            {"weight_gb_per_s", row.weight_gb_per_s()},
            {"speed_of_light_us", row.light.floor_us()},
            {"share_of_light", row.share_of_light()},
            {"max_error_over_bound", row.timing.max_error_over_bound},
            {"peers", std::move(peers)},
            {"activations", to_string(row.problem.activations)},
            {"output", to_string(row.problem.output)},
            {"samples", row.timing.sample_count},
            {"coverage", row.timing.us.coverage},
            {"weight_copies", row.weight_copies},
            {"peer_details", std::move(peer_details)},
            {"ceilings", std::move(ceilings)}};
  if (row.host_us > 0) {
    line["host_us"] = row.host_us;
    line["sm_mhz"] = row.sm_mhz;
  }
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

void print_tables(const std::vector<BenchRow>& rows) {
  std::vector<std::string> lanes;
  std::vector<std::string> entrants;
  for (const BenchRow& row : rows) {
    lanes.push_back(row.lane.ceilings.title);
    entrants.push_back(row.entrant);
  }
  bool is_first = true;
  for (const std::string& lane : distinct(lanes)) {
    if (!std::exchange(is_first, false)) fmt::print("\n");
    const std::vector<BenchRow> of_lane =
        filtered(rows, [&](const BenchRow& row) { return row.lane.ceilings.title == lane; });
    print_heading(of_lane);
    print_table(of_lane);
    for (const std::string& entrant : distinct(entrants)) {
      const std::vector<BenchRow> of_entrant =
          filtered(of_lane, [&](const BenchRow& row) { return row.entrant == entrant; });
      if (!of_entrant.empty()) print_summary(entrant, of_entrant);
    }
  }
}

}  // namespace thresher::cli
