// SPDX-License-Identifier: Apache-2.0
// A contestant inside our own worker: a variant of the engine, or a shared library. The worker
// speaks the protocol (worker.hpp), a host computes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "referee/sandbox/job.hpp"
#include "thresher/nvfp4.hpp"
#include "thresher/problem.hpp"

namespace thresher::referee {

struct HostedWeights {
  Nvfp4View b;
  Nvfp4View b_up;  // dual only
};

// What a group reads and writes in one call, as thresher::GroupOperands has it.
struct HostedCall {
  Nvfp4View a;
  const std::uint16_t* a16 = nullptr;
  float alpha = 1;
  float alpha_up = 1;
  void* c = nullptr;
  std::int64_t c_stride_elements = 0;
};

struct Unsupported {
  std::string why;
};

// Failures are Errors: their text goes to the referee.
class Prepared {
 public:
  virtual ~Prepared() = default;
  virtual void run(std::span<const HostedCall> calls) = 0;
};

class Host {
 public:
  virtual ~Host() = default;
  // The weights stay where they are for as long as what is prepared. Throws Unsupported.
  virtual std::unique_ptr<Prepared> prepare(const Problem& problem,
                                            std::span<const HostedWeights> weights) = 0;
};

std::unique_ptr<Host> make_variant_host(const std::string& variant, int thread_count);
std::unique_ptr<Host> make_library_host(const std::filesystem::path& library, int thread_count);

}  // namespace thresher::referee
