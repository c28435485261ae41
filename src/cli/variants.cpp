// SPDX-License-Identifier: Apache-2.0
// thresher variants: every named variant of a backend, or those that the engine chooses from, and
// whether it can run here.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "cpu/variant.hpp"
#include "gpu/sm90/choose.hpp"
#include "gpu/sm90/variant.hpp"

namespace thresher::cli {
namespace {

struct VariantsOptions {
  std::string backend;
  bool choices = false;
  bool json = false;
};

struct Listed {
  std::string name;
  std::string missing;  // what this machine lacks for it
};

std::vector<Listed> list_cpu_variants(bool choices) {
  if (choices) {
    throw UsageError("only on a GPU does the engine choose from a list: add --backend gpu");
  }
  std::vector<Listed> listed;
  for (const cpu::Isa isa : cpu::kAllIsas) {
    const std::string missing = cpu::missing_features(isa);
    for (const cpu::Variant& variant : cpu::named_variants(isa)) {
      listed.push_back({cpu::name(variant), missing});
    }
  }
  return listed;
}

std::vector<Listed> list_gpu_variants(bool choices, const std::string& missing) {
  std::vector<Listed> listed;
  for (const gpu::sm90::Variant& variant :
       choices ? gpu::sm90::choices() : gpu::sm90::named_variants()) {
    listed.push_back({gpu::sm90::name(variant), missing});
  }
  return listed;
}

// Names are worth knowing without a GPU too: who writes a pitch need not have one.
std::vector<Listed> list_variants(const VariantsOptions& options) {
  if (options.backend == to_string(Backend::kCpu)) return list_cpu_variants(options.choices);
  const std::string missing = why_no_gpu(gpu_engine_options());
  const bool wants_gpu = options.backend == to_string(Backend::kGpu) || missing.empty();
  return wants_gpu ? list_gpu_variants(options.choices, missing)
                   : list_cpu_variants(options.choices);
}

int print_json(const std::vector<Listed>& listed) {
  nlohmann::ordered_json variants = nlohmann::ordered_json::array();
  for (const Listed& variant : listed) {
    variants.push_back({{"variant", variant.name},
                        {"backend", to_string(backend_of_variant(variant.name))},
                        {"runs", variant.missing.empty()},
                        {"missing", variant.missing}});
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"variants", std::move(variants)}}.dump());
  return kExitOk;
}

Cell state_of(const Listed& variant) {
  if (variant.missing.empty()) return Cell("runs", Tone::kGood);
  const bool is_gpu = backend_of_variant(variant.name) == Backend::kGpu;
  return Cell(is_gpu ? "needs a GPU" : "this CPU lacks " + variant.missing, Tone::kDim);
}

int print_table(const std::vector<Listed>& listed) {
  Table table({{"variant"}, {"here"}});
  for (const Listed& variant : listed) table.add_row({variant.name, state_of(variant)});
  print(table);
  const Listed& last = listed.back();
  if (!last.missing.empty() && backend_of_variant(last.name) == Backend::kGpu) {
    fmt::print("\n{}\n", last.missing);
  }
  return kExitOk;
}

}  // namespace

Command variants_command() {
  const auto options = std::make_shared<VariantsOptions>();
  return {.name = "variants",
          .what = "List named variants and whether this machine runs them",
          .options = {backend_option(options->backend),
                      {"--choices", &options->choices,
                       "List what the engine chooses from when nobody names a variant (GPU only)"},
                      json_flag(options->json)},
          .run = [options] {
            const std::vector<Listed> listed = list_variants(*options);
            return options->json ? print_json(listed) : print_table(listed);
          }};
}

}  // namespace thresher::cli
