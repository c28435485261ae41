// SPDX-License-Identifier: Apache-2.0
#include "tank/machine_model.hpp"

#include "tank/any_variant.hpp"
#include "tank/cpu_model.hpp"
#include "tank/gpu_model.hpp"

namespace thresher {

std::optional<ModelledRun> modelled_run(const Problem& problem, std::string_view variant,
                                        const Machine& machine) {
  if (!variant_supports(variant, problem, machine).ok) return std::nullopt;
  if (backend_of_variant(variant) == Backend::kGpu) {
    return modelled_gpu_run(problem, gpu::sm90::variant_from_name(variant), machine);
  }
  return modelled_cpu_run(problem, cpu::variant_from_name(variant), machine);
}

}  // namespace thresher
