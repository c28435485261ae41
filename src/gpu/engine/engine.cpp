// SPDX-License-Identifier: Apache-2.0
// The GPU engine: open the machine, pack weights.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "gpu/engine/state.hpp"
#include "gpu/sm90/kernels/weight_layout.hpp"
#include "gpu/sm90/plan_extents.hpp"

namespace thresher {
namespace {

constexpr std::size_t kPoolStreams = 8;
constexpr int kComputeMajor = 9;  // what the kernels are written for

gpu::NvrtcLookup find_compiler(const GpuEngineOptions& options, const gpu::Driver& driver) {
  return gpu::find_nvrtc(
      {.folders = options.compiler_folders, .driver_version = gpu::driver_version(driver)});
}

std::string why_not_device(const gpu::Driver& driver, int index) {
  if (index < 0 || index >= gpu::device_count(driver)) {
    return fmt::format("there is no GPU {}: this machine has {}", index, gpu::device_count(driver));
  }
  const gpu::DeviceProperties device = gpu::device_properties(driver, index);
  if (device.compute_major == kComputeMajor) return {};
  return fmt::format(
      "GPU {} is {} ({}), and the GPU backend runs on sm_90 only; use the CPU "
      "backend, or another device",
      index, device.name, device.architecture());
}

gpu::sm90::DeviceLimits limits_of(const gpu::DeviceProperties& device) {
  return {.sm_count = device.sm_count,
          .shared_bytes_per_block = static_cast<std::int64_t>(device.shared_bytes_per_block_max),
          .shared_bytes_per_sm = static_cast<std::int64_t>(device.shared_bytes_per_sm)};
}

std::shared_ptr<const StreamPool> make_pool(const gpu::Device& device) {
  auto pool = std::make_shared<StreamPool>();
  for (std::size_t i = 0; i < kPoolStreams; ++i) pool->emplace_back(device);
  return pool;
}

std::unique_ptr<GpuEngine::State> open(const GpuEngineOptions& options) {
  if (const std::string why = why_no_gpu(options); !why.empty()) throw Error(why);
  const gpu::Driver& driver = *gpu::find_driver().driver;
  gpu::Device device(driver, options.device_index);
  const gpu::sm90::DeviceLimits limits = limits_of(device.properties());
  gpu::Stream stream(device);
  std::shared_ptr<const StreamPool> pool = make_pool(device);
  return std::make_unique<GpuEngine::State>(GpuEngine::State{
      .device = std::move(device),
      .compiler = gpu::Compiler(*find_compiler(options, driver).nvrtc),
      .cache = options.cache_folder ? gpu::CubinCache(*options.cache_folder) : gpu::CubinCache(),
      .driver_version = gpu::driver_version(driver),
      .limits = limits,
      .stream = std::move(stream),
      .pool = std::move(pool)});
}

std::shared_ptr<const GpuWeights::State> pack_into(const gpu::Device& device, const Nvfp4View& b,
                                                   const Nvfp4View* up, Activations activations) {
  const gpu::sm90::WeightTiles tiles{.op = up == nullptr ? Op::kGemm : Op::kDual,
                                     .n = b.rows,
                                     .k_elements = b.k_elements,
                                     .operand = gpu::sm90::operand_of(activations)};
  std::vector<std::uint8_t> packed(tiles.bytes());
  if (up == nullptr) {
    gpu::sm90::pack_weights(b, tiles.operand, packed);
  } else {
    gpu::sm90::pack_dual_weights(b, *up, tiles.operand, packed);
  }
  gpu::DeviceBuffer buffer(device, packed.size());
  buffer.copy_in(gpu::bytes_of(packed));
  return std::make_shared<GpuWeights::State>(
      GpuWeights::State{.tiles = tiles,
                        .global_scale = b.global_scale,
                        .global_scale_up = up == nullptr ? 1.0f : up->global_scale,
                        .buffer = std::move(buffer)});
}

std::vector<std::uint8_t> copied_back(const gpu::DeviceBuffer& buffer) {
  std::vector<std::uint8_t> bytes(buffer.bytes());
  buffer.copy_out(gpu::bytes_of(bytes));
  return bytes;
}

}  // namespace

std::string why_no_gpu(const GpuEngineOptions& options) {
  const gpu::DriverLookup& found = gpu::find_driver();
  if (found.driver == nullptr) return found.why_not;
  if (std::string why = why_not_device(*found.driver, options.device_index); !why.empty()) {
    return why;
  }
  return find_compiler(options, *found.driver).why_not;
}

GpuEngine::GpuEngine(const GpuEngineOptions& options) : state_(open(options)) {}
GpuEngine::GpuEngine(GpuEngine&&) noexcept = default;
GpuEngine& GpuEngine::operator=(GpuEngine&&) noexcept = default;
GpuEngine::~GpuEngine() = default;

std::string GpuEngine::description() const {
  const gpu::DeviceProperties& device = state_->device.properties();
  return fmt::format("{} ({}), {} SMs", device.name, device.architecture(), device.sm_count);
}

GpuWeights GpuEngine::pack(const Nvfp4View& b, Activations activations) const {
  thresher::check(b, "b");
  return GpuWeights(pack_into(state_->device, b, nullptr, activations));
}

GpuWeights GpuEngine::pack_dual(const Nvfp4View& gate, const Nvfp4View& up,
                                Activations activations) const {
  thresher::check(gate, "gate");
  thresher::check(up, "up");
  if (gate.rows != up.rows || gate.k_elements != up.k_elements) {
    throw Error(fmt::format("gate is {} x {} but up is {} x {}", gate.rows, gate.k_elements,
                            up.rows, up.k_elements));
  }
  return GpuWeights(pack_into(state_->device, gate, &up, activations));
}

GpuWeights GpuEngine::duplicate(const GpuWeights& weights) const {
  const GpuWeights::State& from = weights.state();
  gpu::DeviceBuffer buffer(state_->device, from.buffer.bytes());
  buffer.enqueue_copy_from(state_->stream, from.buffer);
  state_->stream.synchronize();
  return GpuWeights(
      std::make_shared<GpuWeights::State>(GpuWeights::State{.tiles = from.tiles,
                                                            .global_scale = from.global_scale,
                                                            .global_scale_up = from.global_scale_up,
                                                            .buffer = std::move(buffer)}));
}

Op GpuWeights::op() const { return state_->tiles.op; }
std::int64_t GpuWeights::n() const { return state_->tiles.n; }
std::int64_t GpuWeights::k_elements() const { return state_->tiles.k_elements; }
std::size_t GpuWeights::bytes() const { return state_->buffer.bytes(); }

Nvfp4Matrix GpuWeights::unpack() const {
  Nvfp4Matrix matrix = gpu::sm90::unpack_weights(state_->tiles, copied_back(state_->buffer));
  matrix.global_scale = state_->global_scale;
  return matrix;
}

Nvfp4Matrix GpuWeights::unpack_up() const {
  if (op() != Op::kDual) throw Error("unpack_up: these weights were packed for gemm, not for dual");
  Nvfp4Matrix matrix = gpu::sm90::unpack_up_weights(state_->tiles, copied_back(state_->buffer));
  matrix.global_scale = state_->global_scale_up;
  return matrix;
}

}  // namespace thresher
