// SPDX-License-Identifier: Apache-2.0
// thresher suites: the suites inside the binary, or those of files, with their problems.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/selection.hpp"
#include "cli/table.hpp"

namespace thresher::cli {
namespace {

struct SuitesOptions {
  std::vector<std::string> suites;
  bool json = false;
};

// "64..320" or "64": what an extent takes over all groups.
template <typename Extent>
std::string range_of(const Problem& problem, Extent extent) {
  std::set<std::int64_t> values;
  for (const Group& group : problem.groups) values.insert(extent(group));
  if (values.size() == 1) return fmt::format("{}", *values.begin());
  return fmt::format("{}..{}", *values.begin(), *values.rbegin());
}

nlohmann::ordered_json to_json(const Suite& suite) {
  nlohmann::ordered_json problems = nlohmann::ordered_json::array();
  for (const Problem& problem : suite.problems) {
    nlohmann::ordered_json groups = nlohmann::ordered_json::array();
    for (const Group& group : problem.groups) groups.push_back({group.m, group.n, group.k});
    problems.push_back({{"name", problem.name},
                        {"op", to_string(problem.op)},
                        {"activations", to_string(problem.activations)},
                        {"output", to_string(problem.output)},
                        {"groups", std::move(groups)}});
  }
  return {
      {"name", suite.name}, {"description", suite.description}, {"problems", std::move(problems)}};
}

void print_suite(const Suite& suite) {
  fmt::print("{}: {}\n", suite.name, suite.description);
  Table table({{"problem"},
               {"op"},
               {"activations"},
               {"output"},
               {"groups", Align::kRight},
               {"m", Align::kRight},
               {"n", Align::kRight},
               {"k", Align::kRight}},
              2);
  for (const Problem& problem : suite.problems) {
    table.add_row({problem.name, std::string(to_string(problem.op)),
                   std::string(to_string(problem.activations)),
                   std::string(to_string(problem.output)), fmt::format("{}", problem.groups.size()),
                   range_of(problem, [](const Group& group) { return group.m; }),
                   range_of(problem, [](const Group& group) { return group.n; }),
                   range_of(problem, [](const Group& group) { return group.k; })});
  }
  print(table);
}

int run_suites(const SuitesOptions& options) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const std::vector<std::string> names =
      options.suites.empty() ? builtin_suite_names() : options.suites;
  for (const std::string& name : names) {
    const Suite suite = load_named_suite(name);
    if (options.json) {
      all.push_back(to_json(suite));
    } else {
      print_suite(suite);
      if (&name != &names.back()) fmt::print("\n");
    }
  }
  if (options.json) fmt::print("{}\n", nlohmann::ordered_json{{"suites", all}}.dump());
  return kExitOk;
}

}  // namespace

Command suites_command() {
  const auto options = std::make_shared<SuitesOptions>();
  return {.name = "suites",
          .what = "List suites and their problems",
          .options = {{"suite", &options->suites, "Names or .toml files; all of ours without any"},
                      json_flag(options->json)},
          .run = [options] { return run_suites(*options); }};
}

}  // namespace thresher::cli
