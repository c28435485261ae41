// SPDX-License-Identifier: Apache-2.0
#include "tank/forecast/forecasts.hpp"

#include <gtest/gtest.h>

#include "gpu/sm100/choose.hpp"
#include "gpu/sm100/model.hpp"
#include "nvfp4/error_message.hpp"
#include "tank/ledger/export.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;
using testing::ScratchFolder;

// `thresher forecast -o results/b200/forecasts.jsonl` seals them anew.
TEST(Forecasts, TheCommandMakesWhatShips) {
  const std::vector<LedgerEntry> shipped = shipped_forecasts();
  EXPECT_EQ(to_json_lines(make_forecasts(shipped.back().time_utc)), to_json_lines(shipped))
      << "the model has changed since its forecasts were sealed: while nobody has a B200, seal "
         "them "
         "anew by 'thresher forecast -o results/b200/forecasts.jsonl'";
}

TEST(Forecasts, EveryProblemOfTheSuitesAndEveryPitch) {
  std::map<std::string, int> times;
  std::map<std::string, int> speedups;
  int predicted = 0;
  for (const LedgerEntry& entry : shipped_forecasts()) {
    EXPECT_EQ(entry.source, "predicted");
    if (entry.kind != kForecastKind) continue;
    const nlohmann::json& data = entry.data;
    ++(data.at("what") == "time" ? times : speedups)[data.at("suite")];
    if (data.at("what") == "time") {
      EXPECT_LT(data.at("us").at("low"), data.at("us").at("median"));
      EXPECT_LT(data.at("us").at("median"), data.at("us").at("high"));
    } else {
      EXPECT_EQ(data.at("forecast").is_null(), !data.at("refused").get<std::string>().empty());
      predicted += data.at("forecast").is_null() ? 0 : 1;
    }
  }
  EXPECT_EQ(times, (std::map<std::string, int>{
                       {"seeds", 8}, {"dual", 8}, {"decode", 8}, {"tank_gpu", 8}}));
  ASSERT_EQ(speedups.size(), 2u);
  EXPECT_EQ(speedups.at("seeds"), speedups.at("tank_gpu"));
  EXPECT_GE(speedups.at("seeds"), 15);
  EXPECT_GE(predicted, 8);
}

TEST(Forecasts, AreOfTheVariantThatASeasonThereBeginsWith) {
  EXPECT_EQ(shipped_forecasts().front().data.at("variant"), name(gpu::sm100::baseline()));
}

// What they say that they rest on is what the model reckons with.
TEST(Forecasts, SayTheModelsNumbers) {
  const nlohmann::json basis = shipped_forecasts().back().data;
  const auto value = [&](const char* name) { return basis.at(name).at("value").get<double>(); };
  const gpu::TileTimes& times = gpu::sm100::tile_times();
  EXPECT_EQ(value("nvfp4_gop_per_s"), gpu::sm100::kGopPerS);
  EXPECT_EQ(value("nvfp4_gop_per_s"), times.at_gop_per_s);
  EXPECT_EQ(value("sm_count"), gpu::sm100::kSms);
  EXPECT_EQ(value("l2_gb_per_s"), gpu::sm100::kL2BytesPerNs);
  EXPECT_EQ(value("mma_columns_to_read_a"), gpu::sm100::kColumnsToReadA);
  EXPECT_EQ(value("k_step_overhead_ns"), gpu::sm100::kOverheadNs);
  EXPECT_EQ(value("tile_finish_ns"), times.finish);
  EXPECT_EQ(value("parts_ns"), times.parts);
  EXPECT_EQ(value("parts_ns") / 2, times.parts_least);
}

// Each of them says who measured or published it, or that it is a guess or a judgement.
TEST(Forecasts, EveryNumberHasItsSource) {
  const auto shipped = shipped_forecasts();
  int count = 0;
  for (const auto& [name, number] : shipped.back().data.items()) {
    if (!number.is_object()) continue;
    ++count;
    const auto source = number.at("source").get<std::string>();
    const bool is_known = source.find("B200") != std::string::npos ||
                          source.find("NVIDIA") != std::string::npos ||
                          source.find("H200") != std::string::npos;
    EXPECT_TRUE(is_known || source.starts_with("a guess") || source.starts_with("a judgement"))
        << name << ": " << source;
  }
  EXPECT_EQ(count, 12);
}

TEST(Forecasts, AChangedNumberIsNoticed) {
  const std::string lines = to_json_lines(shipped_forecasts());
  const auto refusal = [](const std::string& changed) {
    return error_message([&] { read_forecasts(changed, "f"); });
  };
  std::string higher = lines;
  higher.replace(higher.find("\"median\":") + 9, 1, "9");
  EXPECT_EQ(refusal(higher), "f:1: its hash does not match its contents");
  EXPECT_EQ(refusal(lines.substr(lines.find('\n') + 1)),
            "f:1: it does not carry the hash of the one before");
  const std::string unsealed = lines.substr(0, lines.rfind('\n', lines.size() - 2) + 1);
  EXPECT_EQ(refusal(unsealed), "f: the forecasts are not sealed by their last entry");
  EXPECT_EQ(refusal("nothing\n").rfind("f:1: it is no entry of an exported ledger: ", 0), 0u);
  EXPECT_EQ(refusal("{}\n").rfind("f:1: it is no entry of an exported ledger: ", 0), 0u);
  EXPECT_EQ(refusal(""), "f: the forecasts are not sealed by their last entry");
}

// The ledger itself keeps them apart from what was measured.
TEST(Forecasts, NothingElseCanBePredicted) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  const auto refusal = [&](const std::string& kind, const std::string& source) {
    return error_message([&] { ledger.append("s", kind, source, nlohmann::json::object()); });
  };
  EXPECT_EQ(refusal("verdict", "predicted"),
            "cannot record the 'verdict' entry: a verdict is not predicted: what is predicted, and "
            "nothing else, is a forecast");
  EXPECT_EQ(
      refusal("forecast", "measured"),
      "cannot record the 'forecast' entry: a forecast is not measured: what is predicted, and "
      "nothing else, is a forecast");
  EXPECT_TRUE(ledger.entries().empty());
}

TEST(Forecasts, AreAppendedOnce) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  const std::vector<LedgerEntry> shipped = shipped_forecasts();
  append_forecasts(ledger, "s", {shipped.begin(), shipped.begin() + 5});  // and was interrupted
  append_forecasts(ledger, "s", shipped);
  append_forecasts(ledger, "s", shipped);
  EXPECT_EQ(ledger.entries("s").size(), shipped.size());
  EXPECT_EQ(ledger.entries("s").back().data, shipped.back().data);
}

}  // namespace
}  // namespace thresher
