// SPDX-License-Identifier: Apache-2.0
#include "tank/forecast/forecasts.hpp"

#include <gtest/gtest.h>

#include "report/report.hpp"
#include "report/sample_ledger.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

using testing::ScratchFolder;

// The words of the fold that shows them.
std::string fold_of(const std::string& page) {
  const std::size_t from = page.find("What was foretold of a B200");
  return from == std::string::npos ? "" : page.substr(from, page.find("</details>", from) - from);
}

TEST(ReportedForecasts, ArePredictedAndNotMeasured) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  append_forecasts(ledger, "s", shipped_forecasts());
  const std::string fold = fold_of(report_page(ledger, "s"));
  EXPECT_NE(fold.find(">predicted</span>"), std::string::npos);
  EXPECT_NE(fold.find("by nobody"), std::string::npos);
  EXPECT_NE(fold.find("Nobody has measured any of it yet."), std::string::npos);
  EXPECT_NE(fold.find(shipped_forecasts().back().data.at("hash").get<std::string>()),
            std::string::npos);
  EXPECT_EQ(fold.find("badge measured"), std::string::npos);
}

TEST(ReportedForecasts, AreOnNoPageWithoutThem) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  testing::write_sample(ledger);
  EXPECT_EQ(fold_of(report_page(ledger)), "");
}

}  // namespace
}  // namespace thresher
