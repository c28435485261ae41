// SPDX-License-Identifier: Apache-2.0
// What verify asks of a backend: its variants, the ways each of them runs, and to compute a problem
// in one of these ways.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/guarded_outputs.hpp"
#include "cli/verify_case.hpp"
#include "gemm/backend.hpp"
#include "gemm/inputs.hpp"
#include "thresher/engine.hpp"

namespace thresher::cli {

// A problem with its inputs where the backend wants them.
class VerifiedProblem {
 public:
  virtual ~VerifiedProblem() = default;
  virtual void run(const Runner& runner, const GuardedOutputs& outputs) = 0;
};

class VerifyBackend {
 public:
  virtual ~VerifyBackend() = default;
  virtual Backend backend() const = 0;

  // How many cases may run side by side: one where a case has the whole device.
  virtual std::size_t cases_at_a_time() const { return 1; }

  // Those with names, the preferred first. `quick`: fewer of them.
  virtual std::vector<std::string> variants(bool quick) const = 0;
  // What the engine would choose; empty if it has no choice of its own.
  virtual std::string choice(const Problem& problem) const = 0;
  // Throws Error if that is no variant's name.
  virtual void check_variant(const std::string& variant) const = 0;

  virtual std::vector<Runner> runners(const Problem& problem, InputFamily family,
                                      const std::string& variant) const = 0;
  virtual Support supports(const Problem& problem, const Runner& runner) const = 0;

  // Refers to both, which must live as long.
  virtual std::unique_ptr<VerifiedProblem> prepare(const Problem& problem,
                                                   const Inputs& inputs) const = 0;
};

std::unique_ptr<VerifyBackend> make_verify_cpu(const std::vector<int>& thread_counts);
// Throw Error where there is no GPU; nothing can miss the emulator.
std::unique_ptr<VerifyBackend> make_verify_gpu();
std::unique_ptr<VerifyBackend> make_verify_emulator();

}  // namespace thresher::cli
