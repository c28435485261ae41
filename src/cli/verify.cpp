// SPDX-License-Identifier: Apache-2.0
// thresher verify: the arithmetic contract, over variants, suites and families of inputs.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "cli/selection.hpp"
#include "cli/verify_backend.hpp"
#include "cli/verify_report.hpp"
#include "cpu/features.hpp"
#include "cpu/side_by_side.hpp"

namespace thresher::cli {
namespace {

constexpr InputFamily kFamilies[] = {InputFamily::kExact, InputFamily::kNatural,
                                     InputFamily::kFull};

struct VerifyOptions {
  std::string backend;
  std::vector<std::string> suites;
  std::vector<std::string> problems;
  std::vector<std::string> variants;
  std::vector<std::string> families;
  std::vector<int> thread_counts;
  std::uint64_t seed = 1;
  bool quick = false;
  bool json = false;
};

std::unique_ptr<VerifyBackend> make_backend(Backend backend, const VerifyOptions& options) {
  if (backend == Backend::kGpu) return make_verify_gpu();
  if (backend == Backend::kEmulator) return make_verify_emulator();
  // One thread has nobody to disagree with, so there are always two.
  return make_verify_cpu(options.thread_counts.empty()
                             ? std::vector<int>{1, std::max(2, cpu::usable_core_count())}
                             : options.thread_counts);
}

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options)
      : options_(options),
        problems_(select_problems(options.suites, options.problems)),
        backend_(make_backend(resolve_backend(options.backend, options.variants), options)) {
    for (const std::string& variant : options.variants) check_variant(variant);
    for (const InputFamily family : kFamilies) {
      const std::string name(to_string(family));
      const bool chosen = std::find(options.families.begin(), options.families.end(), name) !=
                          options.families.end();
      if (options.families.empty() || chosen) families_.push_back(family);
    }
  }

  VerifyReport run() {
    const std::size_t case_count = problems_.size() * families_.size();
    Progress progress(static_cast<std::int64_t>(case_count));
    std::mutex progress_mutex;
    std::vector<VerifyReport> reports(case_count);
    cpu::side_by_side(case_count, backend_->cases_at_a_time(), [&](std::size_t i) {
      const SelectedProblem& selected = problems_[i / families_.size()];
      const InputFamily family = families_[i % families_.size()];
      {
        const std::lock_guard lock(progress_mutex);
        progress.begin_step(
            fmt::format("{} {} {}", selected.suite, selected.problem.name, to_string(family)));
      }
      reports[i] = run_case(selected, family);
    });
    VerifyReport all;
    for (VerifyReport& report : reports) all.append(std::move(report));
    return all;
  }

 private:
  void check_variant(const std::string& variant) const {
    try {
      backend_->check_variant(variant);
    } catch (const Error& error) {
      throw UsageError(fmt::format("{}; 'thresher variants' lists the named ones", error.what()));
    }
  }

  VerifyReport run_case(const SelectedProblem& selected, InputFamily family) const {
    VerifyReport report;
    const Problem& problem = selected.problem;
    const Inputs inputs = make_inputs(problem, family, options_.seed);
    const std::unique_ptr<VerifiedProblem> prepared = backend_->prepare(problem, inputs);
    // By name, so that a repeated case is the same whatever else is asked for.
    const std::uint64_t case_seed = named_seed(
        options_.seed, fmt::format("{} {} {}", selected.suite, problem.name, to_string(family)));
    VerifyCase verify_case(problem, inputs, {.family = family, .seed = case_seed});
    for (const std::string& variant : variants_for(problem)) {
      for (const Runner& runner : backend_->runners(problem, family, variant)) {
        const Support support = backend_->supports(problem, runner);
        if (!support.ok) {
          report.add_skipped(runner, support.why_not);
          continue;
        }
        const Finding finding = verify_case.check(
            runner, [&](const GuardedOutputs& outputs) { prepared->run(runner, outputs); });
        report.add_checked(runner, selected.suite + "/" + problem.name, finding);
        if (finding.ok) continue;
        report.add_failure({.backend = backend_->backend(),
                            .suite = selected.suite,
                            .suite_argument = selected.suite_argument,
                            .problem = problem.name,
                            .family = std::string(to_string(family)),
                            .seed = options_.seed,
                            .runner = runner,
                            .finding = finding});
      }
    }
    return report;
  }

  // What the user named, or everything that has a name here and what the engine would choose.
  std::vector<std::string> variants_for(const Problem& problem) const {
    if (!options_.variants.empty()) return distinct(options_.variants);
    std::vector<std::string> variants = backend_->variants(options_.quick);
    const std::string choice = backend_->choice(problem);
    const bool known = std::find(variants.begin(), variants.end(), choice) != variants.end();
    if (!choice.empty() && !known) variants.push_back(choice);
    return variants;
  }

  const VerifyOptions options_;
  const std::vector<SelectedProblem> problems_;
  const std::unique_ptr<VerifyBackend> backend_;
  std::vector<InputFamily> families_;
};

int run_verify(VerifyOptions options) {
  if (options.suites.empty()) options.suites = {"edges", "small"};
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

Command verify_command() {
  const auto options = std::make_shared<VerifyOptions>();
  return {
      .name = "verify",
      .what = "Prove the arithmetic contract on every variant of this machine",
      .options = {backend_option(options->backend, {"cpu", "gpu", "emulator"}),
                  {.name = "--suite",
                   .value = &options->suites,
                   .what = "Suite names or .toml files",
                   .default_text = "edges small"},
                  {"--problem", &options->problems, "Only these problems"},
                  {"--variant", &options->variants,
                   "Only these variants, named ones or not (see 'thresher variants')"},
                  {.name = "--family",
                   .value = &options->families,
                   .what = "Only these families of inputs",
                   .words = {"exact", "natural", "full"}},
                  {.name = "--threads",
                   .value = &options->thread_counts,
                   .what = "Thread counts, on the CPU",
                   .range = {{1, 1024}},
                   .default_text = "1 and all cores"},
                  {"--seed", &options->seed, "Where the inputs come from"},
                  {"--quick", &options->quick, "All variants of the best body, one of the others"},
                  json_flag(options->json)},
      .run = [options] { return run_verify(*options); }};
}

}  // namespace thresher::cli
