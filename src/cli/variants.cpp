// SPDX-License-Identifier: Apache-2.0
// thresher variants: every named variant of a backend, or those that the engine chooses from, and
// whether it can run here; or the knobs that variants are made of.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"

namespace thresher::cli {
namespace {

struct VariantsOptions {
  std::string backend;
  bool choices = false;
  bool knobs = false;
  bool json = false;
};

struct Listed {
  std::string name;
  std::string missing;  // what this machine lacks for it
};

// Names are worth knowing without a GPU too: who writes a pitch need not have one.
const Backend& backend_listed(const std::string& word) {
  return word.empty() ? default_backend(engine_options()) : backend_named(word);
}

std::vector<Listed> list_variants(const Backend& backend, bool choices) {
  const std::string missing = backend.why_not(engine_options(backend));
  std::vector<Listed> listed;
  for (const std::string& name : choices ? backend.choices() : backend.named_variants()) {
    listed.push_back({name, missing.empty() ? backend.missing_for(name) : missing});
  }
  return listed;
}

int print_variants_json(const std::vector<Listed>& listed) {
  nlohmann::ordered_json variants = nlohmann::ordered_json::array();
  for (const Listed& variant : listed) {
    variants.push_back({{"variant", variant.name},
                        {"backend", backend_of_variant(variant.name).name},
                        {"runs", variant.missing.empty()},
                        {"missing", variant.missing}});
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"variants", std::move(variants)}}.dump());
  return kExitOk;
}

int print_variants(const std::vector<Listed>& listed) {
  Table table({{"variant"}, {"here"}});
  for (const Listed& variant : listed) {
    table.add_row({variant.name, variant.missing.empty() ? Cell("runs", Tone::kGood)
                                                         : Cell("does not run", Tone::kDim)});
  }
  print(table);
  std::set<std::string> reasons;
  for (const Listed& variant : listed) reasons.insert(variant.missing);
  reasons.erase("");
  for (const std::string& reason : reasons) fmt::print("\n{}\n", reason);
  return kExitOk;
}

// What each knob takes, for those who write a variant's name.
int print_knobs(const Backend& backend, bool json) {
  if (json) {
    nlohmann::ordered_json knobs = nlohmann::ordered_json::array();
    for (const KnobText& knob : backend.knobs()) {
      knobs.push_back({{"knob", knob.name},
                       {"takes", knob.allowed},
                       {"default", knob.default_value},
                       {"what", knob.what}});
    }
    fmt::print("{}\n", nlohmann::ordered_json{{"backend", backend.name}, {"knobs", knobs}}.dump());
    return kExitOk;
  }
  Table table({{"knob"}, {"takes"}, {"default"}, {"what it is"}});
  for (const KnobText& knob : backend.knobs()) {
    table.add_row({knob.name, knob.allowed, knob.default_value, knob.what});
  }
  print(table);
  for (const std::string& name : backend.named_variants()) {
    if (name.find(':') == std::string::npos) continue;
    fmt::print("\nA variant's name has the knobs that differ from its defaults: {}\n", name);
    break;
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
                       "List what the engine chooses from when nobody names a variant"},
                      {"--knobs", &options->knobs,
                       "Say what each knob of a variant does, takes and is by default"},
                      json_flag(options->json)},
          .run = [options] {
            if (options->choices && options->knobs) {
              throw UsageError("--choices and --knobs are two questions: ask one at a time");
            }
            const Backend& backend = backend_listed(options->backend);
            if (options->knobs) return print_knobs(backend, options->json);
            const std::vector<Listed> listed = list_variants(backend, options->choices);
            return options->json ? print_variants_json(listed) : print_variants(listed);
          }};
}

}  // namespace thresher::cli
