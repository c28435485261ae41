// SPDX-License-Identifier: Apache-2.0
#include "tank/any_variant.hpp"

#include "cpu/plan.hpp"
#include "cpu/variant.hpp"
#include "gpu/sm90/variant.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

// Calls `visitor` with the variant itself, of the type that its backend has.
template <typename Visitor>
auto visit_variant(std::string_view variant, Visitor visitor) {
  if (backend_of_variant(variant) == Backend::kGpu)
    return visitor(gpu::sm90::variant_from_name(variant));
  return visitor(cpu::variant_from_name(variant));
}

std::string_view isa_of(const cpu::Variant& variant) { return to_string(variant.isa); }
std::string_view isa_of(const gpu::sm90::Variant&) {
  return gpu::sm90::kVariantHead.substr(gpu::sm90::kVariantHead.find('_') + 1);
}

Support supports_here(const cpu::Variant& variant, const Problem& problem, const Machine& machine) {
  return cpu::supports(variant, problem, machine.thread_count);
}
Support supports_here(const gpu::sm90::Variant& variant, const Problem& problem,
                      const Machine& machine) {
  return gpu::sm90::supports(variant, problem, machine.limits);
}

std::size_t workspace_of(const cpu::Variant& variant, const Problem& problem,
                         const Machine& machine) {
  return cpu::make_plan(problem, variant, machine.thread_count).workspace_bytes;
}
std::size_t workspace_of(const gpu::sm90::Variant& variant, const Problem& problem,
                         const Machine& machine) {
  return gpu::sm90::make_plan(variant.knobs,
                              {problem, gpu::sm90::token_count(problem), machine.limits})
      .workspace.bytes;
}

}  // namespace

std::optional<Backend> engine_of(std::string_view backend_word) {
  for (const Backend backend : {Backend::kCpu, Backend::kGpu}) {
    if (backend_word == to_string(backend)) return backend;
  }
  return std::nullopt;
}

std::string fault_of_knob(Backend backend, std::string_view knob, std::string_view value) {
  try {
    if (backend == Backend::kGpu) {
      gpu::sm90::with_knob({}, knob, value);
    } else {
      cpu::with_knob({}, knob, value);
    }
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

std::string normal_name(std::string_view variant) {
  return visit_variant(variant, [](const auto& one) { return name(one); });
}

std::map<std::string, std::string> variant_knobs(std::string_view variant) {
  return visit_variant(variant, [](const auto& one) {
    std::map<std::string, std::string> knobs = knobs_of(one);
    knobs.emplace("isa", isa_of(one));
    return knobs;
  });
}

std::string turn_knobs(std::string_view variant, const std::map<std::string, std::string>& knobs) {
  return visit_variant(variant, [&](auto one) {
    for (const auto& [knob, value] : knobs) one = with_knob(one, knob, value);
    return name(one);
  });
}

Support variant_supports(std::string_view variant, const Problem& problem, const Machine& machine) {
  return visit_variant(variant,
                       [&](const auto& one) { return supports_here(one, problem, machine); });
}

std::size_t variant_workspace_bytes(std::string_view variant, const Problem& problem,
                                    const Machine& machine) {
  return visit_variant(variant, [&](const auto& one) -> std::size_t {
    if (!supports_here(one, problem, machine).ok) return 0;
    return workspace_of(one, problem, machine);
  });
}

}  // namespace thresher
