// SPDX-License-Identifier: Apache-2.0
// Exit codes and messages of the real binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "child.hpp"
#include "gemm/suite.hpp"

namespace thresher::cli {
namespace {

struct Mistake {
  std::vector<std::string> arguments;
  int exit_code;
  std::string message;  // what stderr must contain
};

class Mistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreNamedAndCounted) {
  const Outcome outcome = run_thresher(GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, GetParam().exit_code) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("thresher: ")) << outcome.err;
  EXPECT_NE(outcome.err.find(GetParam().message), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Usage, Mistakes,
    ::testing::Values(
        Mistake{{}, 2, "no command given; try 'thresher --help'"},
        Mistake{{"frobnicate"}, 2, "'thresher' has no command 'frobnicate'; try 'thresher --help'"},
        Mistake{{"bnech"}, 2, "no command 'bnech'; did you mean 'bench'? try 'thresher --help'"},
        Mistake{{"ledger", "verfy"},
                2,
                "'thresher ledger' has no command 'verfy'; did you mean 'verify'? try 'thresher "
                "ledger --help'"},
        Mistake{{"ledger", "verify", "--leger", "x.db"},
                2,
                "'thresher ledger verify' has no option '--leger'; did you mean '--ledger'?"},
        Mistake{{"bench", "--suit", "seeds"},
                2,
                "'thresher bench' has no option '--suit'; did you mean '--suite'? try 'thresher "
                "bench --help'"},
        Mistake{{"bench", "--suit=seeds"}, 2, "did you mean '--suite'?"},
        Mistake{{"referee"}, 2, "'thresher referee' needs a command: simulate or selftest; try"},
        Mistake{{"bench", "--suite", "seeds", "--seconds", "3s"},
                2,
                "--seconds: '3s' is no number from 0.01 to 3600; try"},
        Mistake{{"bench", "--suite", "seeds", "--threads", "1.5"},
                2,
                "--threads: '1.5' is no whole number from 1 to 1024; try"},
        Mistake{{"match", "--suite", "small", "--challenger",
                 THRESHER_SOURCE_DIR "/examples/contestants/plain.py"},
                2,
                "a program enters as a command, after everything else: -- python3 "},
        Mistake{
            {"pitch", "check", THRESHER_SOURCE_DIR "/src/cli"}, 2, "there is no pitch in folder"},
        Mistake{{"bench", "seeds"}, 2, "'thresher bench' has no use for 'seeds'; try"},
        Mistake{{"bench", "--suite", "sedes"}, 2, "did you mean 'seeds'?"},
        Mistake{{"bench", "--suite", "seeds", "--op", "gem"},
                2,
                "--op: 'gem' is none of gemm, dual; did you mean 'gemm'?"},
        Mistake{{"bench", "--suite", "seeds", "--variant", "cpu_avx2:stage=4"},
                2,
                "did you mean 'stages'?"},
        Mistake{{"--frobnicate"}, 2, "--frobnicate"},
        Mistake{{"bench"}, 2, "say what to time: --suite, or --layer"},
        Mistake{
            {"bench", "--suite", "seeds", "--frob"}, 2, "'--frob'; try 'thresher bench --help'"},
        Mistake{{"bench", "--suite", "nope"}, 2, "unknown suite 'nope'"},
        Mistake{
            {"bench", "--suite", "seeds", "--problem", "nope"}, 2, "no problem 'nope' in seeds"},
        Mistake{{"bench", "--suite", "seeds", "--variant", "gpu"}, 2, "unknown variant 'gpu'"},
        Mistake{{"bench", "--suite", "seeds", "--variant", "cpu_avx2:speed=11"}, 2, "speed"},
        Mistake{{"bench", "--suite", "seeds", "--threads", "0"}, 2, "--threads"},
        Mistake{{"bench", "--suite", "seeds", "--threads", "two"}, 2, "--threads"},
        Mistake{{"bench", "--suite", "seeds", "--op", "conv"}, 2, "--op"},
        Mistake{{"bench", "--suite", "seeds", "--activations", "int4"}, 2, "--activations"},
        Mistake{{"bench", "--suite", "seeds", "--seconds", "-1"}, 2, "--seconds"},
        Mistake{{"verify", "--suite", "nope"}, 2, "unknown suite 'nope'"},
        Mistake{{"verify", "--variant", "gpu"}, 2, "unknown variant 'gpu'"},
        Mistake{{"verify", "--family", "happy"}, 2, "--family"},
        Mistake{{"doctor", "--threads", "-3"}, 2, "--threads"},
        Mistake{{"suites", "nope"}, 2, "unknown suite 'nope'"},
        Mistake{{"variants", "--colour"}, 2, "--colour"},
        Mistake{{"variants", "--choices", "--knobs"}, 2, "ask one at a time"}));

INSTANTIATE_TEST_SUITE_P(Failures, Mistakes,
                         ::testing::Values(Mistake{
                             {"verify", "--suite", "/nowhere/x.toml"}, 1, "/nowhere/x.toml"}));

TEST(CommandLine, BrokenSuiteFailsWithItsLine) {
  const TemporaryFolder folder;
  const std::string suite =
      folder.write("broken.toml", "name = \"x\"\n[[problem]]\nm = \"three\"\n");
  const Outcome outcome = run_thresher({"bench", "--suite", suite});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find(suite + ":"), std::string::npos) << outcome.err;
}

TEST(CommandLine, FullDiskIsNotSuccess) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const Outcome outcome = run_shell("thresher suites >/dev/full");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("cannot write the output"), std::string::npos) << outcome.err;
}

TEST(CommandLine, HelpAndVersionSucceed) {
  const Outcome help = run_thresher({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command :
       {"doctor", "verify", "bench", "variants", "suites", "match", "pitch", "constraints", "round",
        "season", "scoreboard", "ledger", "report", "referee"}) {
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
    EXPECT_EQ(run_thresher({command, "--help"}).exit_code, 0) << command;
  }
  const Outcome version = run_thresher({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(version.out.starts_with("thresher ")) << version.out;
}

TEST(CommandLine, SuitesListsEverySuite) {
  const Outcome table = run_thresher({"suites"});
  EXPECT_EQ(table.exit_code, 0);
  const nlohmann::json listed = nlohmann::json::parse(run_thresher({"suites", "--json"}).out);
  const std::vector<std::string> names = builtin_suite_names();
  ASSERT_EQ(listed["suites"].size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(listed["suites"][i]["name"], names[i]);
    EXPECT_FALSE(listed["suites"][i]["problems"].empty());
    EXPECT_NE(table.out.find(names[i] + ": "), std::string::npos);
  }
}

TEST(CommandLine, VariantsSaysWhatIsMissing) {
  const nlohmann::json listed =
      nlohmann::json::parse(run_thresher({"variants", "--backend", "cpu", "--json"}).out);
  bool has_portable = false;
  for (const nlohmann::json& variant : listed["variants"]) {
    EXPECT_EQ(variant["runs"].get<bool>(), variant["missing"].get<std::string>().empty());
    has_portable = has_portable || (variant["variant"] == "cpu_portable" && variant["runs"]);
  }
  EXPECT_TRUE(has_portable);
}

TEST(CommandLine, VariantsOfTheGpuHaveNamesEverywhere) {
  std::vector<std::string> command{"variants", "--backend", "gpu", "--json"};
  for (const bool choices : {false, true}) {
    if (choices) command.push_back("--choices");
    const nlohmann::json listed = nlohmann::json::parse(run_thresher(command).out);
    ASSERT_FALSE(listed["variants"].empty());
    for (const nlohmann::json& variant : listed["variants"]) {
      EXPECT_TRUE(variant["variant"].get<std::string>().starts_with("gpu_sm")) << variant;
      EXPECT_EQ(variant["backend"], "gpu");
      EXPECT_EQ(variant["runs"].get<bool>(), variant["missing"].get<std::string>().empty());
    }
  }
}

// In columns: letters of UTF-8 have bytes that continue them.
std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t width = 0;
    for (const char c : line) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
    widest = std::max(widest, width);
  }
  return widest;
}

TEST(CommandLine, TablesFollowTheWidthOfTheTerminal) {
  for (const std::size_t width : {60, 80, 100, 140}) {
    setenv("COLUMNS", std::to_string(width).c_str(), 1);
    const Outcome variants = run_thresher({"variants", "--backend", "gpu", "--knobs"});
    std::string table = variants.out.substr(0, variants.out.find("\n\n"));
    EXPECT_LE(widest_line(table), width) << table;
    EXPECT_GT(widest_line(table), width - 15) << table;
  }
  unsetenv("COLUMNS");
}

TEST(CommandLine, TablesFitWhereNobodySaysHowWideItIs) {
  for (const char* command : {"variants --backend cpu", "verify --quick --suite small",
                              "doctor --seconds 0.05 --threads 2"}) {
    const Outcome outcome = run_shell(std::string("thresher ") + command);
    EXPECT_EQ(outcome.exit_code, 0) << command << ": " << outcome.err;
    EXPECT_EQ((outcome.err + outcome.out).find('\033'), std::string::npos)
        << "colours and overwritten lines are for terminals";
    EXPECT_LE(widest_line(outcome.out), 80u) << outcome.out;
  }
}

TEST(CommandLine, DoctorSaysWhatItFound) {
  const TemporaryFolder folder;
  const std::string plan = folder.write(
      "plan.json",
      R"({"thresher_plan":2,"machines":[{"machine":{"backend":"cpu","device":"abacus","threads":2,)"
      R"("version":"0"},"entries":[]}]})");
  const Outcome outcome = run_thresher({"doctor", "--backend", "cpu", "--seconds", "0.05",
                                        "--threads", "2", "--plan", plan, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json found = nlohmann::json::parse(outcome.out);
  EXPECT_NE(found.at("plan").get<std::string>().find("is not used: it is of device abacus"),
            std::string::npos);
  EXPECT_EQ(found["instruction_sets"].size(), 5u);
  ASSERT_EQ(found["ceilings"].size(), 2u);
  EXPECT_EQ(found["ceilings"][0]["threads"], 1);
  EXPECT_EQ(found["ceilings"][1]["threads"], 2);
  EXPECT_GT(found["ceilings"][1]["read_gb_per_s"].get<double>(), 0);
  EXPECT_EQ(found["gpu"]["usable"], found["gpu"]["why_not"] == "");
  EXPECT_TRUE(found["gpu"]["found"].contains("GPU driver"));
  ASSERT_FALSE(found["sandbox"].empty());
  for (const nlohmann::json& one : found["sandbox"]) {
    EXPECT_EQ(one["granted"].get<bool>(), one["why_not"].get<std::string>().empty()) << one;
  }
  for (const char* key :
       {"processor", "usable_cores", "caches", "huge_pages", "noise_judgement", "openblas"}) {
    EXPECT_TRUE(found.contains(key)) << key;
  }
}

}  // namespace
}  // namespace thresher::cli
