// SPDX-License-Identifier: Apache-2.0
// thresher export arena: Blackwell's kernel as an entry for GPU MODE's arena, one Python file.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "arena/entry.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"

namespace thresher::cli {
namespace {

namespace fs = std::filesystem;

struct ExportArenaOptions {
  std::string problem;
  fs::path output;
  std::string variant;
  bool json = false;
};

std::vector<std::string> arena_problem_names() {
  std::vector<std::string> names;
  for (const arena::ArenaProblem& problem : arena::arena_problems()) {
    names.emplace_back(problem.name);
  }
  return names;
}

// Somebody may have written in it.
void write_new(const fs::path& path, const std::string& text) {
  if (fs::exists(path)) {
    throw Error(
        fmt::format("'{}' is there already; name another file, or remove it first", path.string()));
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    throw Error(fmt::format("cannot write '{}'; is its folder there and writable?", path.string()));
  }
}

int run_export_arena(const ExportArenaOptions& options) {
  const arena::ArenaProblem problem = arena::arena_problem(options.problem);
  const std::string variant =
      options.variant.empty() ? arena::variant_for(problem) : options.variant;
  const std::string text = arena::entry_file(problem, variant);
  write_new(options.output, text);
  if (options.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"problem", options.problem},
                                              {"variant", variant},
                                              {"output", options.output.string()},
                                              {"bytes", text.size()}}
                           .dump());
  } else {
    fmt::print("wrote {}: {} with {}, never run on a Blackwell\n", options.output.string(),
               options.problem, variant);
  }
  return kExitOk;
}

Command export_arena_command() {
  const auto options = std::make_shared<ExportArenaOptions>();
  return {.name = "arena",
          .what = "Blackwell's kernel as an entry for GPU MODE's arena, one Python file",
          .options = {{.name = "problem",
                       .value = &options->problem,
                       .what = "The arena's problem",
                       .required = true,
                       .words = arena_problem_names()},
                      {.name = "-o,--output",
                       .value = &options->output,
                       .what = "The file to make; it must not be there yet",
                       .required = true},
                      {.name = "--variant",
                       .value = &options->variant,
                       .what = "One of gpu_sm100",
                       .default_text = "the fastest by the model of time"},
                      json_flag(options->json)},
          .run = [options] { return run_export_arena(*options); }};
}

}  // namespace

Command export_command() {
  return {.name = "export",
          .what = "Take what is ours elsewhere",
          .commands = {export_arena_command()}};
}

}  // namespace thresher::cli
