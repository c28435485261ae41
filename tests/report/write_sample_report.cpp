// SPDX-License-Identifier: Apache-2.0
// write_sample_report FOLDER: pages of made-up ledgers and their entries, for browser_check.py.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "report/report.hpp"
#include "report/sample_ledger.hpp"
#include "tank/ledger/export.hpp"

namespace {

using namespace thresher;

struct Beside {
  std::vector<MachinePlan> plans;
  std::vector<report::SimulatedSearch> searches;
};

void write(const std::filesystem::path& folder, const std::string& name, void (*fill)(Ledger&),
           const Beside& beside = {}) {
  Ledger ledger(folder / (name + ".db"));
  fill(ledger);
  std::ofstream(folder / (name + ".html")) << report_page(
      {.ledgers = {&ledger}, .season = {}, .plans = beside.plans, .searches = beside.searches});
  std::ofstream(folder / (name + ".jsonl")) << to_json_lines(ledger.entries());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_sample_report FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  write(folder, "sample", thresher::testing::write_sample,
        {thresher::testing::sample_plans(), thresher::testing::sample_searches()});
  write(folder, "nine", thresher::testing::write_nine);
  write(folder, "lost", thresher::testing::write_lost);
  return 0;
}
