// SPDX-License-Identifier: Apache-2.0
// write_sample_report FOLDER: the sample ledger's page and its entries, for browser_check.py.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "report/report.hpp"
#include "report/sample_ledger.hpp"
#include "tank/ledger/export.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_sample_report FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  thresher::Ledger ledger(folder / "ledger.db");
  thresher::testing::write_sample(ledger);
  std::ofstream(folder / "report.html") << thresher::report_page(ledger);
  std::ofstream(folder / "ledger.jsonl") << thresher::to_json_lines(ledger.entries());
  return 0;
}
