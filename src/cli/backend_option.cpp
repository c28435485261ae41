// SPDX-License-Identifier: Apache-2.0
#include "cli/backend_option.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/commands.hpp"
#include "cli/selection.hpp"
#include "gpu/runtime/cubin_cache.hpp"
#include "gpu/runtime/nvrtc.hpp"

namespace thresher::cli {
namespace {

void check_variants(const Backend& backend, const std::vector<std::string>& variants) {
  for (const std::string& variant : variants) {
    if (std::string_view(variant).starts_with(backend.variant_prefix)) continue;
    throw UsageError(
        fmt::format("'{}' is no variant of backend {}, and a command uses one backend at a time",
                    variant, backend.name));
  }
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

Option device_option(std::string& word) {
  return {.name = "--device",
          .value = &word,
          .what =
              "Which device of the backend: a GPU's number; sm80 for the kernels of Ampere and "
              "newer on any GPU, or in the emulator; there also sm100, Blackwell's",
          .default_text = "the first GPU; the emulator of sm90"};
}

const Backend* backend_asked_for(const std::string& word,
                                 const std::vector<std::string>& variants) {
  if (word.empty() && variants.empty()) return nullptr;
  if (word.empty()) check_variant_names(variants);
  const Backend& backend =
      word.empty() ? backend_of_variant(variants.front()) : backend_named(word);
  check_variants(backend, variants);
  return &backend;
}

const Backend& resolve_backend(const std::string& word, const std::vector<std::string>& variants) {
  const Backend* asked = backend_asked_for(word, variants);
  if (asked == nullptr) return default_backend(engine_options());
  if (const std::string why = asked->why_not(engine_options(*asked)); !why.empty()) {
    throw Error(why);
  }
  return *asked;
}

EngineOptions engine_options() {
  EngineOptions options;
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

EngineOptions engine_options(const Backend& backend) {
  EngineOptions options = engine_options();
  options.device = backend.name;
  return options;
}

EngineOptions engine_options(const Backend& backend, const std::string& device) {
  EngineOptions options = engine_options(backend);
  if (device.empty()) return options;
  options.device = fmt::format("{}:{}", backend.name, device);
  if (const std::string why = why_no_device(options); !why.empty()) throw Error(why);
  return options;
}

}  // namespace thresher::cli
