// SPDX-License-Identifier: Apache-2.0
// An open device, and what it hands out: what stands behind the handles of thresher/engine.hpp.
//
// Whatever a caller can get wrong has been checked by the engine when it arrives here
// (engine/operands.cpp), and belongs to this device: implementations cast to their own types.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backend/layer.hpp"
#include "backend/machine.hpp"
#include "factor.hpp"
#include "thresher/engine.hpp"

namespace thresher {

struct Backend;

namespace backend {

// What every device's weights say of themselves.
struct WeightFacts {
  std::string device;
  Op op = Op::kGemm;
  std::int64_t n = 0;
  std::int64_t k_elements = 0;
  float global_scale = 1.0f;
  float global_scale_up = 1.0f;
};

struct Weights : WeightFacts {
  virtual ~Weights() = default;
  virtual std::size_t bytes() const = 0;
  // Where they lie, for the search for overlapping buffers.
  virtual const void* data() const = 0;
  virtual Nvfp4Matrix unpack(int matrix) const = 0;  // 0: gemm's, dual's gate; 1: dual's up
};

struct Plan {
  virtual ~Plan() = default;

  std::string device;
  Problem problem;
  std::string variant;
  std::size_t workspace_bytes = 0;
  std::int64_t tokens_max = 0;
  std::int64_t kernel_launch_count = 0;
  std::int64_t graph_launch_count = 0;
  std::vector<KernelReport> kernels;
};

class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void* data() const = 0;
  virtual std::size_t bytes() const = 0;
  // The range lies inside.
  virtual void copy_in(std::span<const std::byte> from, std::size_t offset_bytes) const = 0;
  virtual void copy_out(std::span<std::byte> to, std::size_t offset_bytes) const = 0;
};

// In memory of the host that somebody else owns.
class HostBuffer : public Buffer {
 public:
  explicit HostBuffer(std::span<std::byte> memory) : memory_(memory) {}
  void* data() const override { return memory_.data(); }
  std::size_t bytes() const override { return memory_.size(); }
  void copy_in(std::span<const std::byte> from, std::size_t offset_bytes) const override {
    copy(memory_.data() + offset_bytes, from.data(), from.size());
  }
  void copy_out(std::span<std::byte> to, std::size_t offset_bytes) const override {
    copy(to.data(), memory_.data() + offset_bytes, to.size());
  }

 private:
  // What has been placed here is here already.
  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
  }

  const std::span<std::byte> memory_;
};

class Call {
 public:
  virtual ~Call() = default;
  // `rows`: null, or other rows of all groups than those that were bound.
  virtual void enqueue(const Rows* rows, void* stream) const = 0;
  // What enqueue() does beside its work where it returns with the work done: cuts, and threads that
  // are sent off and find nothing to do. On the counts that are there. For those who time it.
  virtual void rehearse() const {}
};

// What sums of a group are multiplied by: alpha and the global scales, rounded once.
struct GroupFactors {
  Factor gate;  // gemm's only one
  Factor up;
};
GroupFactors factors_of(Activations activations, const GroupOperands& operands);

// Rows of C are this many elements apart.
inline std::int64_t c_stride(const Rows& rows, const Group& group) {
  return rows.c_stride_elements == 0 ? group.n : rows.c_stride_elements;
}

// Whether the rows of all groups lie one after the other.
inline bool rows_follow(const Operands& operands) {
  return operands.rows.a != nullptr || operands.rows.c != nullptr;
}

// What a machine reached, by name and in words; the rates a speed of light is made of.
struct Ceilings {
  std::string title;  // of what was measured: "2 threads", "NVIDIA H200 (sm_90a), 132 SMs"
  MachineRates rates;
  std::string text;
  std::vector<std::pair<std::string, double>> values;
};

// By the name that ledgers keep it under.
struct Fact {
  std::string name;
  std::variant<std::string, std::int64_t> value;
};

class Device {
 public:
  Device(const Backend& row, std::string name) : row_(row), name_(std::move(name)) {}
  virtual ~Device() = default;

  const Backend& row() const { return row_; }
  const std::string& name() const { return name_; }  // "cpu", "gpu:0"
  virtual std::string description() const = 0;
  virtual const Machine& machine() const = 0;
  // Takes about `seconds`.
  virtual Ceilings measure_ceilings(double seconds) const = 0;

  // What records say of it.
  virtual std::vector<Fact> facts() const { return {}; }
  // How much of what a call reads the next one may still find in a cache.
  virtual std::size_t cache_bytes() const { return 0; }
  // So many copies, used in turn, that nobody finds in a cache what he has read before. `on_host`:
  // so many where the caches are the host's.
  virtual std::size_t cold_copies(double /*bytes*/, std::size_t on_host) const { return on_host; }
  // What choices depend on besides threads, for ledgers.
  virtual std::optional<SmLimits> limits() const { return std::nullopt; }
  // That it computes at just now; 0 where nobody tells.
  virtual int clock_mhz() const { return 0; }

  virtual std::unique_ptr<Buffer> allocate(std::size_t bytes) const = 0;
  virtual void synchronize() const {}
  // Memory of its own for so many bytes of the host's; null where the host's serve.
  virtual std::unique_ptr<Buffer> mirror(std::size_t /*bytes*/) const { return nullptr; }
  // Its own memory for what lies there, or that very memory where it serves: copies between the two
  // then do nothing. Who places what he must not write does not write here either.
  std::unique_ptr<Buffer> place(std::span<const std::byte> host) const {
    if (std::unique_ptr<Buffer> own = mirror(host.size())) return own;
    return std::make_unique<HostBuffer>(
        std::span(const_cast<std::byte*>(host.data()), host.size()));
  }
  // Held while a call is queued: calls that share memory take turns where queueing computes.
  virtual std::unique_lock<std::mutex> turn(std::mutex& mutex) const {
    return std::unique_lock(mutex);
  }

  // So many calls of pack() are worth making side by side.
  virtual std::size_t packs_at_a_time() const { return 1; }
  // The members that all devices' weights and plans have are the engine's to fill in.
  virtual std::shared_ptr<Weights> pack(const WeightMatrices& matrices) const = 0;
  virtual std::shared_ptr<Weights> duplicate(const Weights& weights) const = 0;
  // Empty, or why these weights cannot be multiplied by such activations.
  virtual std::string why_not_weights(const Weights&, Activations) const { return {}; }

  // Whether a variant of its backend is for such a device at all, whatever the problem.
  virtual bool runs(std::string_view) const { return true; }

  // What the addresses of activations must be multiples of.
  virtual std::size_t activation_alignment(Activations activations) const = 0;

  // `variant` supports `problem`; `tokens_max` is at least the problem's tokens.
  virtual std::shared_ptr<Plan> plan(const Problem& problem, std::string_view variant,
                                     std::int64_t tokens_max) const = 0;
  // Does what takes long in plan() and is kept, a compiler's work; does nothing where nothing would
  // be kept. From many threads at a time, beside all other work of the device.
  virtual void prepare(const Problem&, std::string_view, std::int64_t) const {}
  // `memory` is of this device, and the steps keep its addresses.
  virtual std::unique_ptr<LayerSteps> layer_steps(const LayerShape& shape,
                                                  const LayerMemory& memory) const = 0;
  // Empty, or why this engine cannot run a plan of an engine of the same device.
  virtual std::string why_not_plan(const Plan&) const { return {}; }
  virtual std::unique_ptr<Call> bind(std::shared_ptr<const Plan> plan, const Operands& operands,
                                     const Buffer& workspace) const = 0;
  virtual void run(const std::shared_ptr<const Plan>& plan, const Operands& operands,
                   const Buffer& workspace) const {
    bind(plan, operands, workspace)->enqueue(nullptr, nullptr);
    synchronize();
  }

 private:
  const Backend& row_;
  std::string name_;
};

}  // namespace backend
}  // namespace thresher
