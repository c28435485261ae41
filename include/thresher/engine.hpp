// SPDX-License-Identifier: Apache-2.0
// The engine: pack weights once, plan a problem, run it as often as you like.
//
//   Engine engine;
//   const Weights weights = engine.pack(b.view());
//   const Plan plan = engine.plan(problem);
//   Workspace workspace(plan);
//   engine.run(plan, operands, workspace);
//
// One Engine may be used from many threads: planning and checking run concurrently, packing and
// run() take turns on the engine's thread pool. A Workspace belongs to one run() at a time. run()
// allocates nothing unless it throws. Nothing here prints or reads the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/error.hpp"
#include "thresher/nvfp4.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// Weights in the engine's panel layout, immutable and shared by copies. 0.5625 bytes per weight
// when n is a multiple of 16 and k of 64; both are padded up to that.
class Weights {
 public:
  struct State;
  // Moving copies too, so that no handle is ever empty.
  Weights(const Weights&) = default;
  Weights& operator=(const Weights&) = default;

  Op op() const;
  std::int64_t n() const;
  std::int64_t k_elements() const;
  std::size_t bytes() const;

  // The very bytes that were packed. `unpack_up` is for dual weights: the second matrix.
  Nvfp4Matrix unpack() const;
  Nvfp4Matrix unpack_up() const;

  const State& state() const { return *state_; }

 private:
  friend class Engine;
  explicit Weights(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// A problem bound to a variant and a thread count: which code runs which group, and how much
// scratch it needs. Any engine with that many threads can run it. Immutable and shared by copies.
class Plan {
 public:
  struct State;
  Plan(const Plan&) = default;  // no move, as for Weights
  Plan& operator=(const Plan&) = default;

  const Problem& problem() const;
  const std::string& variant() const;
  std::size_t workspace_bytes() const;
  const State& state() const { return *state_; }

 private:
  friend class Engine;
  explicit Plan(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Scratch memory for run(). Make it once per plan and thread, reuse it for every call.
class Workspace {
 public:
  explicit Workspace(const Plan& plan);
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  ~Workspace();

  std::byte* data() const;
  std::size_t bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What one group reads and writes. `a` for NVFP4 activations, `a16` (m x k row-major bits) for fp16
// and bf16 ones. `c` is m x n of the problem's output type, row-major, rows `c_stride_elements`
// apart (0 means n). The factors are finite, and at most 2^96 when the global scales are multiplied
// in. Nobody looks at the operands of a group with m = 0.
struct GroupOperands {
  Nvfp4View a = {};
  const std::uint16_t* a16 = nullptr;
  const Weights* weights = nullptr;
  void* c = nullptr;
  std::int64_t c_stride_elements = 0;
  float alpha = 1.0f;     // gemm's factor, dual's factor of the gate product
  float alpha_up = 1.0f;  // dual's factor of the up product
};

struct Support {
  bool ok = true;
  std::string why_not;
};

struct EngineOptions {
  int thread_count = 0;  // 0: one per core this process may use
};

class Engine {
 public:
  explicit Engine(EngineOptions options = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  int thread_count() const;

  Weights pack(const Nvfp4View& b) const;
  Weights pack_dual(const Nvfp4View& gate, const Nvfp4View& up) const;

  // Named variants this machine can run, the default's instruction set first. A variant is
  // `cpu_<instruction set>` followed by its non-default knobs, as in
  // "cpu_avx2:decode=direct,stages=4"; any such text is accepted where a variant is asked for.
  std::vector<std::string> variants() const;
  Support supports(const Problem& problem, std::string_view variant) const;

  // An empty variant lets the engine choose by shape and machine. Throws Error if the problem is
  // malformed, the variant unknown, or the variant cannot run the problem.
  Plan plan(const Problem& problem, std::string_view variant = {}) const;

  // What run() checks before it computes, and that no output overlaps another buffer of the call. A
  // buffer reaches from its first element to its last, so outputs interleaved by stride overlap.
  void check(const Plan& plan, std::span<const GroupOperands> operands) const;

  // Computes every group. Throws Error on null pointers, on operands or a workspace that do not fit
  // the plan, and on a NaN activation scale (naming group, row and block); outputs are then
  // unspecified.
  void run(const Plan& plan, std::span<const GroupOperands> operands, Workspace& workspace) const;

 private:
  struct State;
  State& state() const;  // throws Error once the engine has been moved from
  std::unique_ptr<State> state_;
};

}  // namespace thresher
