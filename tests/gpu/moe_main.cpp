// SPDX-License-Identifier: Apache-2.0
// A layer's promises that need a real GPU, beside moe_tests, which run there too: calls recorded in
// somebody else's graph, with addresses of their own; as many launches as the layer says; two
// streams' layers side by side; the same bits as the emulator where sums are exact. Exit code 0:
// all kept; 1: one was not; 77: no GPU here. `thresher bench --layer all --backend gpu` times
// layers.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "gpu/promises.hpp"
#include "gpu/runtime/gpu.hpp"
#include "gpu/runtime/graph.hpp"
#include "moe/layer_scene.hpp"

namespace thresher {
namespace {

using testing::DeviceBytes;
using testing::LayerCase;
using testing::LayerScene;
using testing::report;

std::vector<LayerCase> cases() {
  const MoeOptions plain{.top_k = 4, .tokens_max = 300};
  MoeOptions w4a4 = plain;
  w4a4.activations = Activations::kNvfp4;
  w4a4.x = w4a4.out = Output::kFp16;
  MoeOptions clamped = plain;
  clamped.activation = MoeActivation::kClampedSilu;
  clamped.alpha = 1.702f;
  clamped.beta = 1.0f;
  clamped.limit = 7.0f;
  const LayerCase base{.name = "bf16",
                       .hidden = 256,
                       .intermediate = 208,
                       .expert_count = 40,
                       .token_count = 300,
                       .options = plain};
  std::vector<LayerCase> all(6, base);
  all[1].name = "exact";
  all[1].exact = true;
  all[2].name = "w4a4";
  all[2].options = w4a4;
  all[3].name = "clamped with biases and a shared expert";
  all[3].options = clamped;
  all[3].biases = true;
  all[3].shared_count = 1;
  all[4].name = "batch invariant";
  all[4].options.batch_invariant = true;
  all[5].name = "one token";
  all[5].token_count = 1;
  return all;
}

// The tokens of a scene in the memory of the GPU.
class Placed {
 public:
  Placed(const Engine& engine, LayerScene& scene) : scene_(scene) {
    const MoeTokens& host = scene.tokens();
    const MoeOptions& options = scene.which().options;
    const auto bytes = [](const void* data, std::int64_t count) {
      const auto* first = static_cast<const std::uint8_t*>(data);
      return std::vector<std::uint8_t>(first, first + count);
    };
    const std::int64_t rows = host.token_count;
    x_.emplace(engine, bytes(host.x, rows * host.x_stride_elements * bytes_per_element(options.x)));
    ids_.emplace(engine, bytes(host.ids, rows * options.top_k * 4));
    weights_.emplace(engine, bytes(host.weights, rows * options.top_k * 4));
    out_.emplace(engine,
                 bytes(host.out, rows * host.out_stride_elements * bytes_per_element(options.out)));
    if (host.shared_weights != nullptr) {
      shared_.emplace(engine, bytes(host.shared_weights, rows * scene.which().shared_count * 4));
    }
  }

  MoeTokens tokens() const {
    MoeTokens tokens = scene_.tokens();
    tokens.x = x_->data();
    tokens.ids = reinterpret_cast<const std::int32_t*>(ids_->data());
    tokens.weights = reinterpret_cast<const float*>(weights_->data());
    if (shared_) tokens.shared_weights = reinterpret_cast<const float*>(shared_->data());
    tokens.out = out_->data();
    return tokens;
  }

  // Fetches what was written, and has the scene look at it.
  std::string why_wrong() const {
    const std::vector<std::uint8_t> out = out_->read();
    std::memcpy(scene_.tokens().out, out.data(), out.size());
    return scene_.why_wrong();
  }

 private:
  LayerScene& scene_;
  std::optional<DeviceBytes> x_, ids_, weights_, shared_, out_;
};

// Two calls on different memory in one graph, replayed twice.
void check_recording(const Engine& engine, const LayerCase& which) {
  LayerScene first(which, 1);
  const MoeLayer layer(engine, first.matrices(), which.options);
  Placed placed(engine, first);
  Placed other(engine, first);
  const gpu::Device& device = gpu::gpu_of(engine).device;
  const gpu::LaunchCounts before = device.launch_counts();
  layer.enqueue(placed.tokens());
  const gpu::LaunchCounts launched = device.launch_counts() - before;
  engine.synchronize();
  report(launched.kernels == layer.kernel_launch_count(which.token_count),
         fmt::format("{}: {} launches", which.name, launched.kernels));
  report(placed.why_wrong().empty(), fmt::format("{} {}", which.name, placed.why_wrong()));
  const gpu::Stream stream(device);
  const gpu::Graph graph = gpu::Graph::capture(stream, [&] {
    layer.enqueue(other.tokens(), stream.handle());
    layer.enqueue(placed.tokens(), stream.handle());
  });
  for (int repeat = 0; repeat < 2; ++repeat) {
    graph.launch(stream);
    stream.synchronize();
    report(other.why_wrong().empty(), fmt::format("{} replayed {}", which.name, other.why_wrong()));
  }
}

// On a GPU and in the emulator, where all sums are exact.
void check_bits(const Engine& engine, LayerCase which) {
  which.token_count = 7;
  LayerScene here(which, 1);
  here.run(MoeLayer(engine, here.matrices(), which.options));
  LayerScene emulated(which, 1);
  emulated.run(MoeLayer(Engine({.device = "emulator"}), emulated.matrices(), which.options));
  bool same = true;
  for (std::int64_t token = 0; token < which.token_count; ++token) {
    same = same && here.row(token) == emulated.row(token);
  }
  report(same, fmt::format("{}: the emulator's bits", which.name));
}

void check_all(const Engine& engine) {
  for (const LayerCase& which : cases()) check_recording(engine, which);
  check_bits(engine, cases()[1]);
}

}  // namespace
}  // namespace thresher

int main() { return thresher::testing::hold_to_promises("gpu_moe", thresher::check_all); }
