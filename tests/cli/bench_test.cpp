// SPDX-License-Identifier: Apache-2.0
// The bench command on a tiny suite: what it prints, never how fast it was.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bench/openblas.hpp"
#include "child.hpp"

namespace thresher::cli {
namespace {

constexpr const char* kSuite = R"(
name = "tiny"
description = "for a test"
[[problem]]
name = "ragged"
m = [3, 0, 9]
n = 160
k = 256
[[problem]]
name = "all_empty"
m = 0
n = 32
k = 64
)";

const std::set<std::string> kNumbers = {
    "threads",           "median_us",      "low_us",
    "high_us",           "gflops",         "weight_gb_per_s",
    "speed_of_light_us", "share_of_light", "max_error_over_bound"};
const std::set<std::string> kWords = {"suite", "problem", "op", "backend", "variant"};

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

class BenchTest : public ::testing::Test {
 protected:
  Outcome bench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"bench", "--suite", suite_, "--seconds", "0.02", "--threads", "1"});
    return run_thresher(arguments);
  }

  const TemporaryFolder folder_;
  const std::string suite_ = folder_.write("tiny.toml", kSuite);
};

TEST_F(BenchTest, PrintsOneObjectPerProblemVariantAndThreadCount) {
  const Outcome outcome = bench({"--threads", "2", "--variant", "cpu_portable", "--variant",
                                 "cpu_portable:decode=direct", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> lines = json_lines(outcome.out);
  ASSERT_EQ(lines.size(), 2u * 2 * 2);
  for (const nlohmann::json& line : lines) {
    for (const std::string& key : kNumbers) EXPECT_TRUE(line[key].is_number()) << key << line;
    for (const std::string& key : kWords) EXPECT_TRUE(line[key].is_string()) << key << line;
    EXPECT_TRUE(line["peers"].is_object() && line["peers"].empty());
    EXPECT_EQ(line["suite"], "tiny");
    EXPECT_EQ(line["backend"], "cpu");
    EXPECT_LE(line["low_us"].get<double>(), line["median_us"].get<double>());
    EXPECT_GE(line["high_us"].get<double>(), line["median_us"].get<double>());
    EXPECT_LE(line["max_error_over_bound"].get<double>(), 1);
    EXPECT_GE(line["samples"].get<int>(), 6);
    EXPECT_GE(line["coverage"].get<double>(), 0.95);
  }
  EXPECT_EQ(lines[0]["variant"], "cpu_portable");
  EXPECT_EQ(lines[1]["variant"], "cpu_portable:decode=direct");
  EXPECT_EQ(lines[0]["threads"], 1);
  EXPECT_EQ(lines[2]["threads"], 2);
}

TEST_F(BenchTest, OverridesTheSuite) {
  const Outcome outcome = bench({"--problem", "ragged", "--op", "dual", "--activations", "bf16",
                                 "--output", "fp32", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> lines = json_lines(outcome.out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["op"], "dual");
  EXPECT_EQ(lines[0]["activations"], "bf16");
  EXPECT_EQ(lines[0]["output"], "fp32");
}

// A Python that has nothing, and none at all.
TEST_F(BenchTest, NamesPeersThatAreMissing) {
  const TemporaryFolder programs;
  const std::string path = std::getenv("PATH");
  setenv("PATH", programs.path("").c_str(), 1);
  const Outcome without = bench({"--problem", "ragged", "--peers"});
  EXPECT_NE(without.err.find("torch: there is no program 'python3' in PATH"), std::string::npos)
      << without.err;
  const std::string fake = programs.write(
      "python3", "#!/bin/sh\nread hello\necho \"error $0 has no package 'torch'\"\n");
  chmod(fake.c_str(), 0755);
  const Outcome outcome = bench({"--peers"});
  setenv("PATH", path.c_str(), 1);
  const std::string note =
      "ragged: torch: " + fake + " has no package 'torch'; 'pip install torch' for it, or put";
  EXPECT_NE(outcome.err.find(note), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("all_empty: torch"), std::string::npos)
      << "said once: " << outcome.err;
  const bool has_openblas = bench::Openblas::find() != nullptr;
  EXPECT_EQ(outcome.exit_code, has_openblas ? 0 : 1);
  if (has_openblas) return;
  EXPECT_NE(outcome.err.find("apt install"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("there are no peers for ragged"), std::string::npos) << outcome.err;
}

TEST_F(BenchTest, TimesPeersSideBySide) {
  if (bench::Openblas::find() == nullptr) GTEST_SKIP() << bench::Openblas::how_to_install();
  const Outcome outcome = bench({"--problem", "ragged", "--peers", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json line = json_lines(outcome.out).at(0);
  for (const char* peer : {"openblas_sgemm", "openblas_dequant"}) {
    EXPECT_GT(line["peers"][peer].get<double>(), 0) << peer;
    EXPECT_LE(line["peer_details"][peer]["max_error_over_bound"].get<double>(), 1) << peer;
  }
}

TEST_F(BenchTest, PrintsATableAndASummary) {
  const Outcome outcome = bench({});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("1 thread, gemm"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("the engine's choice: geomean"), std::string::npos) << outcome.out;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST_F(BenchTest, LeavesOutWhatCannotRunAndSaysSo) {
  const Outcome some = bench({"--problem", "ragged", "--variant", "cpu_portable", "--variant",
                              "cpu_portable:roles=split", "--json"});
  EXPECT_EQ(some.exit_code, 0);
  EXPECT_EQ(json_lines(some.out).size(), 1u);
  EXPECT_NE(some.err.find("cpu_portable:roles=split left out"), std::string::npos) << some.err;

  const Outcome none = bench({"--variant", "cpu_portable:roles=split"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.err.find("nothing was measured"), std::string::npos) << none.err;
}

TEST_F(BenchTest, RefusesWhatOnlyLayersHave) {
  const std::vector<std::vector<std::string>> of_layers = {
      {"--tokens", "4"}, {"--experts", "2"}, {"--routing", "uniform"}, {"--batch-invariant"}};
  for (const std::vector<std::string>& option : of_layers) {
    const Outcome outcome = bench(option);
    EXPECT_EQ(outcome.exit_code, 2) << option.front();
    EXPECT_NE(outcome.err.find(option.front() + " is for --layer"), std::string::npos)
        << outcome.err;
  }
}

TEST_F(BenchTest, RefusesToLaunchWhereNothingIsLaunched) {
  const Outcome outcome = bench({"--problem", "ragged", "--launch", "eager"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--launch is for a GPU: on cpu nothing is launched"),
            std::string::npos)
      << outcome.err;
}

TEST(BenchLayer, TimesALayerOfAShape) {
  const Outcome outcome =
      run_thresher({"bench", "--layer", "64x32x6x2", "--tokens", "1,5", "--seconds", "0.02",
                    "--threads", "1", "--backend", "cpu", "--routing", "skewed", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> lines = json_lines(outcome.out);
  ASSERT_EQ(lines.size(), 2u);
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line["layer"], "64x32x6x2");
    EXPECT_GT(line["median_us"], 0);
    EXPECT_GT(line["products_us"], 0);
    EXPECT_LE(line["max_error_over_bound"], 1);
    EXPECT_EQ(line["rows"], 2 * line["tokens"].get<int>());
    EXPECT_LE(line["experts_touched"], line["rows"]);
  }
  const Outcome table = run_thresher({"bench", "--layer", "64x32x6x2", "--tokens", "3", "--seconds",
                                      "0.02", "--threads", "1", "--backend", "cpu", "--experts",
                                      "4", "--activations", "nvfp4", "--batch-invariant"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.err.find("4 of 6 experts"), std::string::npos);
  EXPECT_NE(table.out.find("products"), std::string::npos);
}

TEST(BenchLayer, SaysWhatItCannotTime) {
  const auto err_of = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"bench", "--backend", "cpu"});
    const Outcome outcome = run_thresher(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    return outcome.err;
  };
  EXPECT_NE(err_of({}).find("say what to time: --suite, or --layer"), std::string::npos);
  EXPECT_NE(err_of({"--layer", "gpt"}).find("no layer is called 'gpt'"), std::string::npos);
  EXPECT_NE(err_of({"--layer", "63x32x6x2"}).find("no layer is called"), std::string::npos);
  EXPECT_NE(err_of({"--layer", "64x32x6x2", "--tokens", "1,x"}).find("'x' is no whole number"),
            std::string::npos);
  EXPECT_NE(err_of({"--layer", "64x32x6x2", "--threads", "1", "--threads", "2"})
                .find("one number of --threads"),
            std::string::npos);
  const std::pair<const char*, const char*> of_suites[] = {{"--problem", "p"},
                                                           {"--variant", "cpu_avx2"},
                                                           {"--op", "gemm"},
                                                           {"--output", "fp16"},
                                                           {"--sizes", "host"}};
  for (const auto& [name, word] : of_suites) {
    EXPECT_NE(err_of({"--layer", "64x32x6x2", name, word}).find(std::string(name) + " is for"),
              std::string::npos)
        << name;
  }
  EXPECT_NE(err_of({"--layer", "64x32x6x2", "--peers"}).find("--peers is for"), std::string::npos);
}

}  // namespace
}  // namespace thresher::cli
