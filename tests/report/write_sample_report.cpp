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

void write(const std::filesystem::path& folder, const std::string& name, void (*fill)(Ledger&)) {
  Ledger ledger(folder / (name + ".db"));
  fill(ledger);
  std::ofstream(folder / (name + ".html")) << report_page(ledger);
  std::ofstream(folder / (name + ".jsonl")) << to_json_lines(ledger.entries());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_sample_report FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  write(folder, "sample", thresher::testing::write_sample);
  write(folder, "nine", thresher::testing::write_nine);
  write(folder, "lost", thresher::testing::write_lost);
  return 0;
}
