// SPDX-License-Identifier: Apache-2.0
// One case of verify: a problem with its inputs, computed by many variants and thread counts.
//
// Every run starts from poisoned outputs and must write all of them and nothing else, obey the
// arithmetic contract, and agree bit for bit with its twins, as its backend knows them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/conformance.hpp"
#include "gemm/inputs.hpp"
#include "measure/guarded_outputs.hpp"
#include "measure/witness.hpp"
#include "thresher/problem.hpp"

namespace thresher::cli {

// A variant, and in which of several ways it runs.
struct Runner {
  std::string variant;
  std::string way;       // "2 threads"
  std::string twin_set;  // all runners of a set must produce the same bits

  std::string name() const { return variant + ", " + way; }
};

// Computes the problem into the outputs it is given.
using RunProblem = std::function<void(const measure::GuardedOutputs& outputs)>;

struct Finding {
  bool ok = true;
  std::string what;            // what is wrong, in one line
  std::optional<Runner> twin;  // with whom the bits disagree
  double max_error_over_bound = 0;
};

struct CaseOptions {
  InputFamily family = InputFamily::kExact;
  std::uint64_t seed = 0;
  // Multiply-adds the oracle may spend on one output; where there are more, a witness knows as
  // well.
  double oracle_steps_max = 1 << 25;
};

// Refers to what it is given, which must live as long. The engine is the witness's.
class VerifyCase {
 public:
  VerifyCase(const Engine& engine, const Problem& problem, const Inputs& inputs,
             CaseOptions options);

  Finding check(const Runner& runner, const RunProblem& run);

 private:
  // Bits that came out, with the verdict on them: equal bits need no second oracle.
  struct Checked {
    std::vector<std::uint8_t> bits;
    Conformance conformance;
  };
  // The first of a set of runners that must all produce the same bits.
  struct FirstTwin {
    Runner runner;
    std::size_t checked_index = 0;
  };

  std::size_t check_bits();
  const measure::Witness& witness();
  std::string find_unwritten(const RunProblem& run);
  Finding compare_with_twin(const Runner& runner, std::size_t checked_index);

  const Engine& engine_;
  const Problem& problem_;
  const Inputs& inputs_;
  const CaseOptions options_;
  std::optional<measure::Witness> witness_;  // from the first outputs on
  measure::GuardedOutputs outputs_;
  std::vector<Checked> checked_;
  std::map<std::string, FirstTwin> first_twins_;
};

// A seed for something that has a name, so that it does not depend on what else is verified.
std::uint64_t named_seed(std::uint64_t seed, std::string_view name);

}  // namespace thresher::cli
