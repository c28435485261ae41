// SPDX-License-Identifier: Apache-2.0
#include "bench/program_peers.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "measure/cold_copies.hpp"
#include "measure/witness.hpp"
#include "referee/sandbox/scratch.hpp"

namespace thresher::bench {
namespace {

const Problem kAsked{.name = "peer",
                     .op = Op::kGemm,
                     .activations = Activations::kNvfp4,
                     .output = Output::kFp16,
                     .groups = {{.m = 3, .n = 20, .k = 48}}};

ProgramSetting setting_in(const std::filesystem::path& folder, std::vector<Problem> problems) {
  return {.options = {.folder = folder,
                      .thread_count = 2,
                      .timeout_seconds = 120,
                      .thresher = THRESHER_BINARY_DIR "/thresher"},
          .problems = std::move(problems),
          .make_memory = make_host_memory,
          .copy_count = [](std::size_t, std::size_t everybodys) { return everybodys; }};
}

PeerProgram program_of(const std::string& name, std::vector<std::string> command) {
  return {.name = name,
          .command = std::move(command),
          .how_to_install = "install it",
          .peers = {{.name = "one", .is_wide = true}, {.name = "other"}}};
}

PeerEntrants entered(ProgramPeers& peers, const Problem& problem, const Inputs& inputs) {
  PeerEntrants entrants;
  peers.add(problem, inputs, 1, entrants);
  return entrants;
}

TEST(ProgramPeers, ThatAreMissingAreNamedOnce) {
  const Inputs inputs = make_inputs(kAsked, InputFamily::kNatural, 1);
  ProgramPeers peers(
      {program_of("a", {"no-such-program"}),
       program_of("b", {"sh", "-c", "read hello; echo error there is no package"}),
       program_of("c", {"python3", THRESHER_SOURCE_DIR "/examples/contestants/plain.py"})},
      setting_in("/", {kAsked}));
  const PeerEntrants first = entered(peers, kAsked, inputs);
  EXPECT_EQ(first.notes,
            (std::vector<std::string>{"a: there is no program 'no-such-program' in PATH",
                                      "b: there is no package; install it"}));
  ASSERT_EQ(first.entrants.size(), 2u);
  EXPECT_EQ(first.entrants[0].name, "one");
  EXPECT_EQ(first.entrants[0].problem.output, Output::kFp32);
  EXPECT_EQ(first.entrants[1].problem.output, Output::kBf16);
  EXPECT_EQ(entered(peers, kAsked, inputs).notes, std::vector<std::string>{});
}

TEST(ProgramPeers, ThatEndAreStartedAgain) {
  const Inputs inputs = make_inputs(kAsked, InputFamily::kNatural, 1);
  ProgramPeers peers(
      {program_of("frail", {"sh", "-c",
                            "read hello; echo hello 1; while read line; do set -- $line;"
                            "case $1 in prepare) for token; do :; done; echo done $token;;"
                            "*) exit 3;; esac; done"})},
      setting_in("/", {kAsked}));
  for (int time = 0; time < 2; ++time) {
    const PeerEntrants made = entered(peers, kAsked, inputs);
    ASSERT_EQ(made.entrants.size(), 2u);
    try {
      made.entrants[1].ask_us({0});
      FAIL() << "it has not ended";
    } catch (const PeerEnded& ended) {
      EXPECT_EQ(ended.peer(), "other");
      EXPECT_NE(std::string(ended.what()).find("other: ended during 'run'"), std::string::npos);
    }
    EXPECT_EQ(peers.end("other"), (std::vector<std::string>{"one", "other"}));
  }
}

// With the Python that ./run may have made before all others.
class OwnPath {
 public:
  OwnPath() { setenv("PATH", (THRESHER_VENV_DIR "/bin:" + path_).c_str(), 1); }
  OwnPath(const OwnPath&) = delete;
  OwnPath& operator=(const OwnPath&) = delete;
  ~OwnPath() { setenv("PATH", path_.c_str(), 1); }

 private:
  const std::string path_ = std::getenv("PATH");
};

// The real ones, where torch is installed.
TEST(HostPrograms, ObeyTheContract) {
  const OwnPath own_path;
  const referee::ScratchFolder folder(referee::FolderOwner::kReferee);
  write_programs(folder.path());
  const Engine engine({.thread_count = 2});
  std::vector<Problem> problems;
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      problems.push_back({.name = "peer",
                          .op = op,
                          .activations = activations,
                          .output = Output::kFp16,
                          .groups = {{.m = 7, .n = 96, .k = 512},
                                     {.m = 0, .n = 40, .k = 32},
                                     {.m = 1, .n = 130, .k = 48}}});
    }
  }
  ProgramPeers peers(host_programs(), setting_in(folder.path(), problems));
  for (const Problem& problem : problems) {
    SCOPED_TRACE(std::string(to_string(problem.op)) + ", " +
                 std::string(to_string(problem.activations)));
    const Inputs inputs = make_inputs(problem, InputFamily::kNatural, 3);
    measure::Witness witness(engine, problem, inputs, {.seed = 5, .oracle_steps_max = 0});
    witness.testify(inputs);
    PeerEntrants made;
    peers.add(problem, inputs, 2, made);
    for (const std::string& note : made.notes) {
      if (note.find("pip install") != std::string::npos) GTEST_SKIP() << note;
      FAIL() << note;
    }
    ASSERT_EQ(made.entrants.size(), 2u);
    EXPECT_EQ(made.entrants[0].name, "torch_fp32");
    EXPECT_EQ(made.entrants[1].name, "torch_16bit");
    for (const measure::Entrant& peer : made.entrants) {
      for (std::uint64_t call = 0; call < 3; ++call) {
        peer.poison(0, call);
        EXPECT_GT(peer.ask_us({0}), 0);
        const Conformance found = witness.judge(peer.problem.output, peer.fetch(0), peer.rigour);
        EXPECT_TRUE(found.ok) << peer.name << ": " << found.first_failure;
        EXPECT_EQ(peer.find_trespass(), "");
      }
    }
  }
}

}  // namespace
}  // namespace thresher::bench
