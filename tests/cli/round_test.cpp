// SPDX-License-Identifier: Apache-2.0
// thresher round with several pitches named: whoever is not played hears why.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "child.hpp"

namespace thresher::cli {
namespace {

// Long enough a call for what is twice as fast to be seen as that on any machine.
constexpr const char* kRoundSuite = R"(
name = "round"
[[problem]]
name = "some"
m = [16]
n = 512
k = 1024
)";

class Round : public ::testing::Test {
 protected:
  std::string pitch(const std::string& name, const std::string& rest) {
    return folder_.write(name + ".toml", "name = \"" + name +
                                             "\"\nsuite = \"suite.toml\"\nclaim = 2\nmechanism = "
                                             "\"so it is\"\n" +
                                             rest);
  }
  std::string broken(const std::string& name) {
    folder_.write("broken.c", "int broken = ;\n");
    return pitch(name, "[contestant]\nsource = \"broken.c\"\n");
  }
  std::string foreign() {
    return pitch("foreign", "backend = \"gpu\"\n[contestant]\nvariant = \"gpu_sm90:stages=4\"\n");
  }
  // Does nothing for a while and ends.
  std::string slow(const std::string& name) {
    folder_.write("slow.py", "import time\ntime.sleep(1.5)\n");
    return pitch(name, "[contestant]\ncommand = [\"python3\", \"slow.py\"]\n");
  }

  Outcome round(std::vector<std::string> words) {
    words.insert(words.begin(), {"round", "--backend", "cpu", "--suite", suite_, "--threads", "1",
                                 "--ledger", folder_.path("ledger.db")});
    return run_thresher(words);
  }

  const TemporaryFolder folder_;
  const std::string suite_ = folder_.write("suite.toml", kRoundSuite);
};

TEST_F(Round, AVetoIsSaid) {
  std::filesystem::permissions(folder_.path(""), std::filesystem::perms{0755});
  const Outcome outcome =
      round({"--seconds", "5", broken("one"), broken("two"), broken("three"), foreign()});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("not played: foreign: vetoed by '"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("not played: one"), std::string::npos) << outcome.out;
}

TEST_F(Round, TimeThatWasOverIsSaid) {
  std::filesystem::permissions(folder_.path(""), std::filesystem::perms{0755});
  const Outcome outcome =
      round({"--seconds", "1", slow("one"), slow("two"), slow("three"), slow("four")});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find(": the time was over before its turn; --seconds grants more"),
            std::string::npos)
      << outcome.out << outcome.err;
}

TEST_F(Round, ANewChampionIsSaid) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no AVX2";
  const auto fast = [&](const std::string& name, const char* stages) {
    return pitch(name, fmt::format("[contestant]\nvariant = \"cpu_avx2:stages={}\"\n", stages));
  };
  const Outcome outcome =
      round({"--seconds", "120", "--match-seconds", "60", "--champion", "cpu_portable", "--season",
             "fast", fast("one", "2"), fast("two", "4"), fast("three", "8"), fast("four", "16")});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  if (outcome.out.find("accepted: ") == std::string::npos) {
    GTEST_SKIP() << "too noisy a machine to accept anything in two minutes: " << outcome.out;
  }
  EXPECT_NE(outcome.out.find(": a round ends when a pitch is accepted; '"), std::string::npos)
      << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find(" round --season fast' plays it against the new champion"),
            std::string::npos)
      << outcome.out;
}

// Whoever reads JSON reads standard output; people read the other.
TEST_F(Round, WithJsonItIsSaidBesideIt) {
  const std::string same = pitch("same", "[contestant]\nknobs = {stages = 0}\n");
  const Outcome outcome = round({"--seconds", "2", "--json", same});
  EXPECT_EQ(outcome.exit_code, kExitFailure) << outcome.err;
  EXPECT_TRUE(nlohmann::json::parse(outcome.out)["rows"].empty()) << outcome.out;
  EXPECT_NE(outcome.err.find("not played: same: the champion does this already"), std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace thresher::cli
