// SPDX-License-Identifier: Apache-2.0
// The GPU engine: open the machine, pack weights.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "gpu/engine/state.hpp"
#include "gpu/kernels/weight_layout.hpp"

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

gpu::DeviceLimits limits_of(const gpu::DeviceProperties& device) {
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
  const gpu::DeviceLimits limits = limits_of(device.properties());
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

// Rows `begin` to `end` of a matrix.
Nvfp4View rows_of(const Nvfp4View& matrix, std::int64_t begin, std::int64_t end) {
  return {.codes = matrix.codes + begin * matrix.k_elements / 2,
          .scales = matrix.scales + begin * matrix.k_elements / kBlockElements,
          .rows = end - begin,
          .k_elements = matrix.k_elements,
          .global_scale = matrix.global_scale};
}

// Packs on as many threads as there are cores: tiles of rows are independent of each other, and lie
// one after the other.
std::vector<std::uint8_t> pack_in_threads(const gpu::WeightTiles& tiles, const Nvfp4View& b,
                                          const Nvfp4View* up) {
  const std::int64_t tile_rows = up == nullptr ? gpu::kTileRows : gpu::kTileRows / 2;
  const std::int64_t tile_count = std::max<std::int64_t>((b.rows + tile_rows - 1) / tile_rows, 1);
  const std::int64_t thread_count =
      std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, tile_count);
  std::vector<std::uint8_t> packed(tiles.bytes());
  const std::size_t tile_row_bytes = packed.size() / static_cast<std::size_t>(tile_count);
  const auto pack_share = [&](std::int64_t share) {
    const std::int64_t first = tile_count * share / thread_count;
    const std::int64_t last = tile_count * (share + 1) / thread_count;
    const std::int64_t begin = first * tile_rows;
    const std::int64_t end = std::min(b.rows, last * tile_rows);
    const std::span<std::uint8_t> out =
        std::span(packed).subspan(static_cast<std::size_t>(first) * tile_row_bytes,
                                  static_cast<std::size_t>(last - first) * tile_row_bytes);
    if (up == nullptr) {
      gpu::pack_weights(rows_of(b, begin, end), out);
    } else {
      gpu::pack_dual_weights(rows_of(b, begin, end), rows_of(*up, begin, end), out);
    }
  };
  std::vector<std::jthread> threads;
  for (std::int64_t i = 1; i < thread_count; ++i) threads.emplace_back(pack_share, i);
  pack_share(0);
  threads.clear();
  return packed;
}

std::shared_ptr<const GpuWeights::State> pack_into(const gpu::Device& device, const Nvfp4View& b,
                                                   const Nvfp4View* up) {
  const gpu::WeightTiles tiles{
      .op = up == nullptr ? Op::kGemm : Op::kDual, .n = b.rows, .k_elements = b.k_elements};
  const std::vector<std::uint8_t> packed = pack_in_threads(tiles, b, up);
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

GpuWeights GpuEngine::pack(const Nvfp4View& b) const {
  thresher::check(b, "b");
  return GpuWeights(pack_into(state_->device, b, nullptr));
}

GpuWeights GpuEngine::pack_dual(const Nvfp4View& gate, const Nvfp4View& up) const {
  thresher::check(gate, "gate");
  thresher::check(up, "up");
  if (gate.rows != up.rows || gate.k_elements != up.k_elements) {
    throw Error(fmt::format("gate is {} x {} but up is {} x {}", gate.rows, gate.k_elements,
                            up.rows, up.k_elements));
  }
  return GpuWeights(pack_into(state_->device, gate, &up));
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
  Nvfp4Matrix matrix = gpu::unpack_weights(state_->tiles, copied_back(state_->buffer));
  matrix.global_scale = state_->global_scale;
  return matrix;
}

Nvfp4Matrix GpuWeights::unpack_up() const {
  if (op() != Op::kDual) throw Error("unpack_up: these weights were packed for gemm, not for dual");
  Nvfp4Matrix matrix = gpu::unpack_up_weights(state_->tiles, copied_back(state_->buffer));
  matrix.global_scale = state_->global_scale_up;
  return matrix;
}

}  // namespace thresher
