// SPDX-License-Identifier: Apache-2.0
// thresher variants: every named variant, and whether it can run here.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "cpu/variant.hpp"

namespace thresher::cli {
namespace {

struct Listed {
  std::string name;
  std::string missing;  // features this machine lacks for it
};

std::vector<Listed> list_variants() {
  std::vector<Listed> listed;
  for (const cpu::Isa isa : cpu::kAllIsas) {
    const std::string missing = cpu::missing_features(isa);
    for (const cpu::Variant& variant : cpu::named_variants(isa)) {
      listed.push_back({cpu::name(variant), missing});
    }
  }
  return listed;
}

int print_json(const std::vector<Listed>& listed) {
  nlohmann::ordered_json variants = nlohmann::ordered_json::array();
  for (const Listed& variant : listed) {
    variants.push_back({{"variant", variant.name},
                        {"runs", variant.missing.empty()},
                        {"missing", variant.missing}});
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"variants", std::move(variants)}}.dump());
  return kExitOk;
}

int print_table(const std::vector<Listed>& listed) {
  Table table({{"variant"}, {"here"}});
  for (const Listed& variant : listed) {
    const bool runs = variant.missing.empty();
    table.add_row({variant.name, runs ? Cell("runs", Tone::kGood)
                                      : Cell("this CPU lacks " + variant.missing, Tone::kDim)});
  }
  print(table);
  return kExitOk;
}

}  // namespace

Command add_variants(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("variants", "List named variants and whether this machine runs them");
  command->add_flag("--json", *json, "Print one JSON object");
  return {command,
          [json] { return *json ? print_json(list_variants()) : print_table(list_variants()); }};
}

}  // namespace thresher::cli
