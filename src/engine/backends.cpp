// SPDX-License-Identifier: Apache-2.0
#include "engine/backends.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cpu/backend.hpp"
#include "emulated/backend.hpp"
#include "gpu/backend.hpp"

namespace thresher {
namespace {

// "cpu, gpu and emulator"
std::string list_of(std::string_view Backend::*member) {
  std::vector<std::string_view> words;
  for (const Backend* backend : backends()) {
    const std::string_view word = backend->*member;
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  std::string text(words.front());
  for (std::size_t i = 1; i < words.size(); ++i) {
    text += fmt::format("{} {}", i + 1 < words.size() ? "," : " and", words[i]);
  }
  return text;
}

}  // namespace

std::span<const Backend* const> backends() {
  static const Backend* const rows[] = {&cpu::cpu_backend(), &gpu::gpu_backend(),
                                        &emulated::emulated_backend()};
  return rows;
}

const Backend* find_backend(std::string_view name) {
  for (const Backend* backend : backends()) {
    if (backend->name == name) return backend;
  }
  return nullptr;
}

const Backend& backend_named(std::string_view name) {
  if (const Backend* backend = find_backend(name)) return *backend;
  throw Error(fmt::format("unknown backend '{}'; there are {}", name, list_of(&Backend::name)));
}

const Backend& backend_of_device(std::string_view device) {
  const Backend* backend = find_backend(device.substr(0, device.find(':')));
  if (backend != nullptr && (backend->numbered || device == backend->name)) return *backend;
  throw Error(fmt::format("unknown device '{}'; there are {}", device, list_of(&Backend::name)));
}

const Backend& backend_of_variant(std::string_view variant) {
  for (const Backend* backend : backends()) {
    if (variant.starts_with(backend->variant_prefix)) return *backend;
  }
  throw Error(fmt::format("unknown variant '{}'; variants begin with {}", variant,
                          list_of(&Backend::variant_prefix)));
}

const Backend& default_backend(EngineOptions options) {
  options.device = gpu::gpu_backend().name;
  return gpu::gpu_backend().why_not(options).empty() ? gpu::gpu_backend() : host_backend();
}

const Backend& host_backend() { return cpu::cpu_backend(); }

}  // namespace thresher
