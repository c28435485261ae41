// SPDX-License-Identifier: Apache-2.0
// A contestant inside our own worker: a variant of the engine, a shared library, or the kernels of
// a CUDA source. The worker speaks the protocol (worker.hpp) and holds a device's clock; a host
// computes, or queues work.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "referee/sandbox/job.hpp"
#include "thresher/engine.hpp"

namespace thresher::referee {

struct HostedWeights {
  Nvfp4View b;
  Nvfp4View b_up;  // dual only
  // On a GPU the same bytes again: packing happens on the host, kernels read on the device.
  Nvfp4View device_b;
  Nvfp4View device_b_up;
};

// What a group reads and writes in one call, with the device's addresses.
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

// A call that is ready to be queued, as often as anybody likes.
class Bound {
 public:
  virtual ~Bound() = default;
  virtual void enqueue(void* stream) const = 0;
};

// Failures are Errors: their text goes to the referee.
class Prepared {
 public:
  virtual ~Prepared() = default;
  // A host on the CPU computes at once; one on a GPU binds. What is bound must not outlive what is
  // prepared.
  virtual void run(std::span<const HostedCall> calls);
  virtual std::unique_ptr<Bound> bind(std::span<const HostedCall> calls);
};

class Host {
 public:
  virtual ~Host() = default;
  // The weights stay where they are for as long as what is prepared. Throws Unsupported.
  virtual std::unique_ptr<Prepared> prepare(const Problem& problem,
                                            std::span<const HostedWeights> weights) = 0;
};

// A type as contestants are told it, in C and in CUDA.
int contestant_code(Activations activations);
int contestant_code(Output output);

// The engine must outlive the host. An empty variant is the engine's choice.
std::unique_ptr<Host> make_variant_host(const Engine& engine, std::string variant);
std::unique_ptr<Host> make_library_host(const std::filesystem::path& library, int thread_count);
std::unique_ptr<Host> make_cuda_host(const Engine& engine, const Job& job);

}  // namespace thresher::referee
