// SPDX-License-Identifier: Apache-2.0
// thresher verify: the arithmetic contract, over variants, suites and families of inputs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/packed_problem.hpp"
#include "cli/progress.hpp"
#include "cli/selection.hpp"
#include "cli/verify_case.hpp"
#include "cli/verify_report.hpp"
#include "cpu/features.hpp"
#include "thresher/engine.hpp"

namespace thresher::cli {
namespace {

constexpr InputFamily kFamilies[] = {InputFamily::kExact, InputFamily::kNatural,
                                     InputFamily::kFull};

struct VerifyOptions {
  std::vector<std::string> suites;
  std::vector<std::string> problems;
  std::vector<std::string> variants;
  std::vector<std::string> families;
  std::vector<int> thread_counts;
  std::uint64_t seed = 1;
  bool quick = false;
  bool json = false;
};

// "cpu_avx2" of "cpu_avx2:stages=0".
std::string_view body_of(std::string_view variant) { return variant.substr(0, variant.find(':')); }

// Every variant of the body that the engine prefers, and the default of every other body.
std::vector<std::string> quick_variants(const std::vector<std::string>& variants) {
  std::vector<std::string> quick;
  for (const std::string& variant : variants) {
    const std::string_view body = body_of(variant);
    if (body == body_of(variants.front()) || body == variant) quick.push_back(variant);
  }
  return quick;
}

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options)
      : options_(options), problems_(select_problems(options.suites, options.problems)) {
    check_variant_names(options.variants);
    for (const int count : distinct(options.thread_counts)) {
      engines_.push_back(std::make_unique<Engine>(EngineOptions{.thread_count = count}));
    }
    for (const InputFamily family : kFamilies) {
      const std::string name(to_string(family));
      const bool chosen = std::find(options.families.begin(), options.families.end(), name) !=
                          options.families.end();
      if (options.families.empty() || chosen) families_.push_back(family);
    }
  }

  VerifyReport run() {
    Progress progress(static_cast<std::int64_t>(problems_.size() * families_.size()));
    for (const SelectedProblem& selected : problems_) {
      for (const InputFamily family : families_) {
        progress.begin_step(
            fmt::format("{} {} {}", selected.suite, selected.problem.name, to_string(family)));
        run_case(selected, family);
      }
    }
    return std::move(report_);
  }

 private:
  void run_case(const SelectedProblem& selected, InputFamily family) {
    const Problem& problem = selected.problem;
    const Inputs inputs = make_inputs(problem, family, options_.seed);
    const PackedProblem packed(*engines_.front(), problem, inputs);
    // By name, so that a repeated case is the same whatever else is asked for.
    const std::uint64_t case_seed = named_seed(
        options_.seed, fmt::format("{} {} {}", selected.suite, problem.name, to_string(family)));
    VerifyCase verify_case(problem, inputs, {.family = family, .seed = case_seed});
    for (const std::string& variant : variants_for(problem)) {
      for (const std::unique_ptr<Engine>& engine : engines_) {
        const Runner runner{variant, engine->thread_count()};
        const Support support = engine->supports(problem, variant);
        if (!support.ok) {
          report_.add_skipped(runner, support.why_not);
          continue;
        }
        const Finding finding = verify_case.check(runner, [&](const GuardedOutputs& outputs) {
          run_engine(*engine, problem, variant, packed.operands(outputs));
        });
        report_.add_checked(runner, selected.suite + "/" + problem.name, finding);
        if (finding.ok) continue;
        report_.add_failure({.suite = selected.suite,
                             .suite_argument = selected.suite_argument,
                             .problem = problem.name,
                             .family = std::string(to_string(family)),
                             .seed = options_.seed,
                             .runner = runner,
                             .finding = finding});
      }
    }
  }

  static void run_engine(const Engine& engine, const Problem& problem, const std::string& variant,
                         const std::vector<GroupOperands>& operands) {
    const Plan plan = engine.plan(problem, variant);
    Workspace workspace(plan);
    engine.run(plan, operands, workspace);
  }

  // What the user named, or everything that has a name here and what the engine would choose.
  std::vector<std::string> variants_for(const Problem& problem) const {
    if (!options_.variants.empty()) return distinct(options_.variants);
    std::vector<std::string> variants = engines_.front()->variants();
    if (options_.quick) variants = quick_variants(variants);
    const std::string choice = engines_.front()->plan(problem).variant();
    if (std::find(variants.begin(), variants.end(), choice) == variants.end()) {
      variants.push_back(choice);
    }
    return variants;
  }

  const VerifyOptions options_;
  const std::vector<SelectedProblem> problems_;
  std::vector<InputFamily> families_;
  std::vector<std::unique_ptr<Engine>> engines_;
  VerifyReport report_;
};

int run_verify(VerifyOptions options) {
  if (options.suites.empty()) options.suites = {"edges", "small"};
  if (options.thread_counts.empty()) {
    // One thread has nobody to disagree with, so there are always two.
    options.thread_counts = {1, std::max(2, cpu::usable_core_count())};
  }
  const VerifyReport report = Verifier(options).run();
  if (options.json) {
    report.print_json(options.seed);
  } else {
    report.print_tables(options.seed);
  }
  if (report.check_count() == 0) {
    throw Error("nothing was verified: no variant can run any of these problems here");
  }
  return report.failures().empty() ? kExitOk : kExitFailure;
}

}  // namespace

Command add_verify(CLI::App& app) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand(
      "verify", "Prove the arithmetic contract on every variant of this machine");
  command->add_option("--suite", options->suites, "Suite names or .toml files")
      ->default_str("edges small");
  command->add_option("--problem", options->problems, "Only these problems");
  command->add_option("--variant", options->variants,
                      "Only these variants, named ones or not (see 'thresher variants')");
  command->add_option("--family", options->families, "Only these families of inputs")
      ->check(CLI::IsMember({"exact", "natural", "full"}));
  command->add_option("--threads", options->thread_counts, "Thread counts")
      ->check(CLI::Range(1, 1024))
      ->default_str("1 and all cores");
  command->add_option("--seed", options->seed, "Where the inputs come from")->capture_default_str();
  command->add_flag("--quick", options->quick, "All variants of the best body, one of the others");
  command->add_flag("--json", options->json, "Print one JSON object");
  return {command, [options] { return run_verify(*options); }};
}

}  // namespace thresher::cli
