// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_text.hpp"

#include <fmt/format.h>

namespace thresher::gpu {
namespace {

// An enumerator as C++ text; its number is the same on both sides.
template <typename Enum>
std::string text_of(const char* type, Enum value) {
  return fmt::format("static_cast<{}>({})", type, static_cast<int>(value));
}

std::string text_of(const GemmConfig& config) {
  return fmt::format(
      "GemmConfig{{.product = {}, .output = {}, .operand = {}, .tokens = {}, .weight_rows = {}, "
      ".consumer_warpgroups = {}, .stages = {}, .fragment_steps = {}, .specialised = {}, "
      ".store = {}, .schedule = {}, .split_k = {}, .blocks_per_sm = {}}}",
      text_of("Product", config.product), text_of("OutputType", config.output),
      text_of("hw::Operand", config.operand), config.tokens, config.weight_rows,
      config.consumer_warpgroups, config.stages, config.fragment_steps, config.specialised,
      text_of("Store", config.store), text_of("Schedule", config.schedule), config.split_k,
      config.blocks_per_sm);
}

struct Entry {
  const char* file;       // below gpu/kernels/
  std::string bounds;     // of __launch_bounds__
  const char* arguments;  // the type of the kernel's argument
  std::string call;       // the instantiated template
};

std::string text_of(const Entry& entry) {
  return fmt::format(
      "#include \"gpu/kernels/{}\"\n"
      "namespace thresher::gpu {{\n"
      "extern \"C\" __global__ void __launch_bounds__({}) {}(const __grid_constant__ {} args) {{\n"
      "  {}(args);\n"
      "}}\n"
      "}}\n",
      entry.file, entry.bounds, kEntryName, entry.arguments, entry.call);
}

}  // namespace

std::string kernel_text(const ImageConfig& config) {
  return text_of(
      Entry{.file = "activation_images.cuh",
            .bounds = fmt::format("{}", kImageThreads),
            .arguments = "ImageArgs",
            .call = fmt::format("image_kernel<ImageConfig{{.activations = {}, .tokens = {}}}>",
                                text_of("ActivationType", config.activations), config.tokens)});
}

std::string kernel_text(const GemmLaunch& launch) {
  const bool plain = launch.kind == GemmKind::kPlain;
  return text_of(
      Entry{.file = plain ? "plain_gemm.cuh" : "gemm.cuh",
            .bounds = fmt::format("{}, {}", launch.thread_count, launch.config.blocks_per_sm),
            .arguments = "GemmArgs",
            .call = fmt::format("{}<{}>", plain ? "plain_gemm_kernel" : "gemm_kernel",
                                text_of(launch.config))});
}

}  // namespace thresher::gpu
