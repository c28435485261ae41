// SPDX-License-Identifier: Apache-2.0
#include "cli/backend_option.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/commands.hpp"
#include "gpu/runtime/cubin_cache.hpp"
#include "gpu/runtime/nvrtc.hpp"

namespace thresher::cli {
namespace {

// The GPU's kernels on the CPU go by the names of the GPU's variants.
bool runs(Backend backend, const std::string& variant) {
  const bool is_gpu_variant = backend_of_variant(variant) == Backend::kGpu;
  return is_gpu_variant == (backend != Backend::kCpu);
}

void check_variants(Backend backend, const std::vector<std::string>& variants) {
  for (const std::string& variant : variants) {
    if (runs(backend, variant)) continue;
    throw UsageError(
        fmt::format("'{}' is no variant of backend {}, and a command uses one backend at a time",
                    variant, to_string(backend)));
  }
}

Backend backend_meant(const std::string& word, const std::vector<std::string>& variants,
                      bool has_gpu) {
  if (!word.empty()) return backend_from_string(word);
  if (!variants.empty()) return backend_of_variant(variants.front());
  return has_gpu ? Backend::kGpu : Backend::kCpu;
}

// The active one, and the one that ./run makes beside the build.
std::vector<std::string> python_environments() {
  std::vector<std::string> environments;
  if (const char* active = std::getenv("VIRTUAL_ENV")) environments.emplace_back(active);
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  environments.push_back((program.parent_path().parent_path() / "venv").string());
  return environments;
}

}  // namespace

Option backend_option(std::string& word, const std::vector<std::string>& words) {
  return {.name = "--backend",
          .value = &word,
          .what = "What computes",
          .words = words,
          .default_text = "gpu where there is a usable one, else cpu"};
}

Backend choose_backend(const std::string& word, const std::vector<std::string>& variants,
                       const std::string& why_no_gpu) {
  const Backend backend = backend_meant(word, variants, why_no_gpu.empty());
  check_variants(backend, variants);
  if (backend == Backend::kGpu && !why_no_gpu.empty()) throw Error(why_no_gpu);
  return backend;
}

Backend resolve_backend(const std::string& word, const std::vector<std::string>& variants) {
  // Looking for a GPU opens its driver: not for those who have said that they want none.
  if (word == to_string(Backend::kCpu)) return choose_backend(word, variants, {});
  return choose_backend(word, variants, why_no_gpu(gpu_engine_options()));
}

GpuEngineOptions gpu_engine_options() {
  GpuEngineOptions options;
  const std::filesystem::path cache =
      gpu::default_cache_folder(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME"));
  if (!cache.empty()) options.cache_folder = cache;
  for (const std::string& environment : python_environments()) {
    for (std::string& folder : gpu::pip_library_folders(environment)) {
      options.compiler_folders.push_back(std::move(folder));
    }
  }
  return options;
}

}  // namespace thresher::cli
