// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm90/entry_source.hpp"

#include <fmt/format.h>

#include <string_view>

namespace thresher::gpu::sm90 {
namespace {

// An enumerator by its number: it needs no table of names, and the compiler checks the type.
template <typename Enum>
std::string enumerator(std::string_view type, Enum value) {
  return fmt::format("static_cast<{}>({})", type, static_cast<int>(value));
}

std::string config_text(const GemmConfig& config) {
  return fmt::format(
      "GemmConfig{{.product = {}, .output = {}, .tokens = {}, "
      ".widths = {}, .weight_rows = {}, "
      ".consumer_warpgroups = {}, .stages = {}, .fragment_steps = {}, "
      ".specialised = {}, "
      ".store = {}, .schedule = {}, .split_k = {}, .blocks_per_sm = {}, "
      ".arrive = {}, .prologue = {}, .loads = {}, .activations = {}, .mma = {}}}",
      enumerator("Product", config.product), enumerator("OutputType", config.output), config.tokens,
      enumerator("Widths", config.widths), config.weight_rows, config.consumer_warpgroups,
      config.stages, config.fragment_steps, config.specialised, enumerator("Store", config.store),
      enumerator("Schedule", config.schedule), config.split_k, config.blocks_per_sm,
      enumerator("Arrive", config.arrive), enumerator("Prologue", config.prologue),
      enumerator("Loads", config.loads), enumerator("ActivationType", config.activations),
      enumerator("Mma", config.mma));
}

std::string config_text(const ImageConfig& config) {
  return fmt::format("ImageConfig{{.activations = {}, .cut = {{.tokens = {}, .widths = {}}}}}",
                     enumerator("ActivationType", config.activations), config.cut.tokens,
                     enumerator("Widths", config.cut.widths));
}

// Kernels for warps use no instruction that Ampere does not have, whatever they are compiled for:
// what was proved of them on one GPU then holds on all.
constexpr std::string_view kAsOnAmpere = "#define THRESHER_PTX_ARCH 800\n";

struct Entry {
  std::string_view before = {};  // the first include
  std::string_view header;
  std::string_view function;
  std::string_view args;
  std::string config;
  int thread_count = 0;  // at most
  int blocks_per_sm = 1;
};

std::string source_of(const Entry& entry) {
  return fmt::format(
      "{}#include \"gpu/{}\"\n"
      "using namespace thresher::gpu::sm90;\n"
      "extern \"C\" __global__ void __launch_bounds__({}, {})\n"
      "{}(const __grid_constant__ {} args) {{\n"
      "  {}<{}>(args);\n"
      "}}\n",
      entry.before, entry.header, entry.thread_count, entry.blocks_per_sm, kEntryName, entry.args,
      entry.function, entry.config);
}

}  // namespace

std::string entry_source(const ImageLaunch& launch) {
  return source_of({.before = launch.mma == Mma::kWarp ? kAsOnAmpere : std::string_view(),
                    .header = "sm90/kernels/activation_images.cuh",
                    .function = "image_kernel",
                    .args = "ImageArgs",
                    .config = config_text(launch.config),
                    .thread_count = launch.thread_count,
                    .blocks_per_sm = kImageBlocksPerSm});
}

std::string entry_source(const GemmLaunch& launch) {
  if (launch.config.mma == Mma::kWarp) {
    return source_of({.before = kAsOnAmpere,
                      .header = "sm80/kernels/gemm.cuh",
                      .function = "thresher::gpu::sm80::gemm_kernel",
                      .args = "GemmArgs",
                      .config = config_text(launch.config),
                      .thread_count = launch.thread_count,
                      .blocks_per_sm = launch.config.blocks_per_sm});
  }
  if (launch.config.mma == Mma::kBlockScaled) {
    return source_of({.header = "sm100/kernels/gemm.cuh",
                      .function = "thresher::gpu::sm100::gemm_kernel",
                      .args = "GemmArgs",
                      .config = config_text(launch.config),
                      .thread_count = launch.thread_count,
                      .blocks_per_sm = launch.config.blocks_per_sm});
  }
  const bool plain = launch.kind == GemmKind::kPlain;
  return source_of({.header = plain ? "sm90/kernels/plain_gemm.cuh" : "sm90/kernels/gemm.cuh",
                    .function = plain ? "plain_gemm_kernel" : "gemm_kernel",
                    .args = "GemmArgs",
                    .config = config_text(launch.config),
                    .thread_count = plain ? launch.thread_count : thread_bound(launch.config),
                    .blocks_per_sm = launch.config.blocks_per_sm});
}

std::string entry_source(const LayerConfig& config) {
  return source_of(
      {.header = "sm90/kernels/layer.cuh",
       .function = "layer_kernel",
       .args = "LayerArgs",
       .config = fmt::format(
           "LayerConfig{{.step = {}, .activations = {}, .type = {}, .strips = {}}}",
           enumerator("LayerStep", config.step), enumerator("ActivationType", config.activations),
           enumerator("OutputType", config.type), config.strips),
       .thread_count = kLayerThreads,
       .blocks_per_sm = is_few(config.step) ? kFewBlocksPerSm : 1});
}

}  // namespace thresher::gpu::sm90
