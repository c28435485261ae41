// SPDX-License-Identifier: Apache-2.0
// Small suites and quick matches for the tests of the referee.
#pragma once

#include "referee/match.hpp"
#include "referee/reachable.hpp"
#include "support/scene.hpp"

namespace thresher::testing {

// Some cheats know these extents: n = 48 and k = 128 are what the suite tells.
inline Suite tiny_suite() {
  Suite suite{.name = "tiny"};
  suite.problems.push_back(make_problem({5, 9}, 48, 128));
  suite.problems[0].name = "tiny_gemm";
  return suite;
}

// So many weights that reading them takes far longer than a call that does nothing.
inline Suite heavy_suite() {
  Suite suite{.name = "heavy"};
  suite.problems.push_back(make_problem({1}, 2048, 8192));
  suite.problems[0].name = "heavy_gemm";
  return suite;
}

// More groups than any sample has corners, and more multiply-adds than the oracle is asked for in a
// timed call.
inline Suite crowd_suite() {
  Suite suite{.name = "crowd"};
  suite.problems.push_back(make_problem(std::vector<std::int64_t>(20, 3), 160, 64, Op::kGemm,
                                        Activations::kNvfp4, Output::kFp16));
  suite.problems[0].name = "crowd_gemm";
  return suite;
}

// More than it is asked for in the gates.
inline Suite wide_suite() {
  Suite suite{.name = "wide"};
  suite.problems.push_back(
      make_problem({8}, 4112, 256, Op::kGemm, Activations::kNvfp4, Output::kBf16));
  suite.problems[0].name = "wide_gemm";
  return suite;
}

// A problem of many rows beside one of far more work.
inline Suite tall_suite() {
  Suite suite{.name = "tall"};
  suite.problems.push_back(make_problem({4}, 256, 512));
  suite.problems.push_back(make_problem({120}, 16, 48));
  suite.problems[0].name = "flat_gemm";
  suite.problems[1].name = "tall_gemm";
  return suite;
}

// Sums so long that the bound of a single element has room for 8-bit activations.
inline Suite long_suite() {
  Suite suite{.name = "long"};
  suite.problems.push_back(
      make_problem({3}, 48, 7168, Op::kGemm, Activations::kBf16, Output::kBf16));
  suite.problems[0].name = "long_gemm";
  return suite;
}

inline Suite all_kinds_suite() {
  Suite suite{.name = "all kinds"};
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
        Problem problem = make_problem({3, 0, 2}, 9, 48, op, activations, output);
        problem.name = std::string(to_string(op)) + "_" + std::string(to_string(activations)) +
                       "_" + std::string(to_string(output));
        suite.problems.push_back(problem);
      }
    }
  }
  return suite;
}

inline MatchOptions quick_options() {
  MatchOptions options;
  options.thread_count = 2;
  options.blocks_per_problem = 3;     // with the warm-up more than seven calls in a process
  options.call_timeout_seconds = 30;  // nor is one of who is kept waiting by others
  options.seconds_max = 600;  // never reached: no verdict here is a matter of the machine's speed
  options.analysis.heats_min = 2;
  options.analysis.heats_max = 2;
  options.program = THRESHER_BINARY_DIR "/thresher";
  return options;
}

inline Contestant variant(const std::string& name) {
  return {.kind = ContestantKind::kVariant, .name = name, .variant = name};
}

// A file under the root of the house.
inline Contestant contestant_of_file(const std::filesystem::path& file) {
  const std::filesystem::path path = reachable_house() / file;
  if (path.extension() == ".py") {
    return {.kind = ContestantKind::kCommand,
            .name = path.stem(),
            .command = {"python3", path.filename()},
            .folder = path.parent_path()};
  }
  return {.kind = ContestantKind::kLibrary,
          .name = path.stem(),
          .source = path.filename(),
          .folder = path.parent_path()};
}

}  // namespace thresher::testing
