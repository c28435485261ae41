// SPDX-License-Identifier: Apache-2.0
// The engine on a GPU: pack weights into device memory once, plan a problem, bind it to buffers,
// queue it on a stream as often as you like.
//
//   GpuEngine engine;                            // throws Error where there is no usable GPU
//   const GpuWeights weights = engine.pack(b.view());
//   const GpuPlan plan = engine.plan(problem);
//   GpuWorkspace workspace = engine.workspace(plan);
//   GpuCall call = engine.bind(plan, operands, workspace);
//   call.enqueue(stream);
//
// The CUDA driver and its run-time compiler are opened when the first engine is made; nothing of
// CUDA is needed to build. Kernels are compiled for the device by plan(), which takes a while the
// first time and milliseconds when the cache has them. enqueue() allocates nothing, waits for
// nothing, and may be captured in a graph of the caller's.
//
// Device addresses are void pointers, streams are CUstream (or cudaStream_t) handles as void
// pointers; null is the default stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/engine.hpp"
#include "thresher/error.hpp"
#include "thresher/nvfp4.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// Weights in device memory, immutable and shared by copies: 0.57 bytes per weight, padded to 128
// rows and 64 k. One packed copy serves every variant, and NVFP4 and fp16 activations alike; for
// bf16 ones the bits lie otherwise.
class GpuWeights {
 public:
  struct State;
  GpuWeights(const GpuWeights&) = default;  // no move, as for Weights
  GpuWeights& operator=(const GpuWeights&) = default;

  Op op() const;
  std::int64_t n() const;
  std::int64_t k_elements() const;
  std::size_t bytes() const;

  // The very bytes that were packed, copied back. `unpack_up` is for dual weights.
  Nvfp4Matrix unpack() const;
  Nvfp4Matrix unpack_up() const;

  const State& state() const { return *state_; }

 private:
  friend class GpuEngine;
  explicit GpuWeights(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// What the compiler and the driver say of one kernel of a plan.
struct GpuKernelReport {
  std::string name;
  int register_count = 0;
  std::size_t spill_bytes = 0;   // stores and loads together
  std::size_t shared_bytes = 0;  // as launched
  int block_count = 0;
  int thread_count = 0;
};

// A problem bound to a variant, with its compiled kernels. Immutable and shared by copies.
class GpuPlan {
 public:
  struct State;
  GpuPlan(const GpuPlan&) = default;
  GpuPlan& operator=(const GpuPlan&) = default;

  const Problem& problem() const;
  const std::string& variant() const;
  std::size_t workspace_bytes() const;
  // Kernels that one call runs.
  std::int64_t kernel_count() const;
  std::vector<GpuKernelReport> kernels() const;
  const State& state() const { return *state_; }

 private:
  friend class GpuEngine;
  explicit GpuPlan(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Device scratch memory. Calls whose work cannot overlap in time may share one.
class GpuWorkspace {
 public:
  struct State;
  GpuWorkspace(GpuWorkspace&&) noexcept;
  GpuWorkspace& operator=(GpuWorkspace&&) noexcept;
  ~GpuWorkspace();

  std::size_t bytes() const;
  const State& state() const { return *state_; }

 private:
  friend class GpuEngine;
  explicit GpuWorkspace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What one group reads and writes, as GroupOperands, with device addresses. NVFP4 activations:
// codes (m x k / 2 bytes) and scales (m x k / 16 bytes) row-major, codes aligned to 8 bytes; 16-bit
// ones aligned to 16. C is aligned to its element. A group that can have no tokens needs nothing.
struct GpuGroupOperands {
  const void* a_codes = nullptr;
  const void* a_scales = nullptr;
  float a_global_scale = 1.0f;
  const void* a16 = nullptr;
  const GpuWeights* weights = nullptr;
  void* c = nullptr;
  std::int64_t c_stride_elements = 0;  // 0 means n
  float alpha = 1.0f;
  float alpha_up = 1.0f;
};

// A plan bound to buffers. It must not outlive its workspace, nor the memory it names.
class GpuCall {
 public:
  struct State;
  GpuCall(GpuCall&&) noexcept;
  GpuCall& operator=(GpuCall&&) noexcept;
  ~GpuCall();

  // Queues one call. Where the variant says so that is the launch of a graph, which cannot itself
  // be captured; enqueue_kernels() always queues the kernels.
  void enqueue(void* stream) const;
  void enqueue_kernels(void* stream) const;

  const State& state() const { return *state_; }

 private:
  friend class GpuEngine;
  explicit GpuCall(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Device memory for those who have no other way to get it.
class GpuBuffer {
 public:
  struct State;
  GpuBuffer(GpuBuffer&&) noexcept;
  GpuBuffer& operator=(GpuBuffer&&) noexcept;
  ~GpuBuffer();

  void* data() const;  // a device address, a multiple of 256
  std::size_t bytes() const;
  // Done when they return, after all work queued so far. Throw Error if the range is too long.
  void copy_in(std::span<const std::byte> from) const;
  void copy_out(std::span<std::byte> to) const;

 private:
  friend class GpuEngine;
  explicit GpuBuffer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Where the number of tokens of each group stands in device memory, written by earlier work of the
// same stream. Groups then need no m: `tokens_max` bounds all of them together, and a group's
// activations and C have room for as many rows as it may get.
struct DeviceTokenCounts {
  const std::uint32_t* counts = nullptr;  // device address, one per group
  std::int64_t tokens_max = 0;
};

struct GpuEngineOptions {
  int device_index = 0;
  // Where compiled kernels are kept; nothing: nowhere.
  std::optional<std::filesystem::path> cache_folder;
  // Folders to look for NVRTC in before the system's own places.
  std::vector<std::string> compiler_folders;
};

class GpuEngine {
 public:
  struct State;
  explicit GpuEngine(const GpuEngineOptions& options = {});
  GpuEngine(GpuEngine&&) noexcept;
  GpuEngine& operator=(GpuEngine&&) noexcept;
  ~GpuEngine();

  // "NVIDIA H200 (sm_90a), 132 SMs".
  std::string description() const;

  GpuBuffer allocate(std::size_t bytes) const;
  // Waits for all work on the device, and throws what went wrong there.
  void synchronize() const;

  // `activations`: those of the problems that the weights are for.
  GpuWeights pack(const Nvfp4View& b, Activations activations = Activations::kNvfp4) const;
  GpuWeights pack_dual(const Nvfp4View& gate, const Nvfp4View& up,
                       Activations activations = Activations::kNvfp4) const;

  // Another copy in device memory: calls that take turns at copies find nothing of them in the L2.
  GpuWeights duplicate(const GpuWeights& weights) const;

  // "gpu_sm90" followed by its non-default knobs, as in "gpu_sm90:tokens=64"; any such text is
  // accepted where a variant is asked for.
  std::vector<std::string> variants() const;
  Support supports(const Problem& problem, std::string_view variant) const;

  // An empty variant lets the engine choose by shape. With `tokens_max` the plan serves any
  // distribution of so many tokens over the groups; otherwise the m of the groups.
  GpuPlan plan(const Problem& problem, std::string_view variant = {},
               std::int64_t tokens_max = 0) const;
  GpuWorkspace workspace(const GpuPlan& plan) const;

  // Copies a small table to the device, and waits for that. Throws Error on null pointers,
  // misaligned buffers, and weights or a workspace that do not fit.
  GpuCall bind(const GpuPlan& plan, std::span<const GpuGroupOperands> operands,
               const GpuWorkspace& workspace) const;
  GpuCall bind(const GpuPlan& plan, std::span<const GpuGroupOperands> operands,
               const GpuWorkspace& workspace, const DeviceTokenCounts& token_counts) const;

  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// Empty: a GpuEngine can be made here. Otherwise one sentence that says what is missing and what to
// do.
std::string why_no_gpu(const GpuEngineOptions& options = {});

}  // namespace thresher
