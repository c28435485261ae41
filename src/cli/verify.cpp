// SPDX-License-Identifier: Apache-2.0
// thresher verify: the arithmetic contract, over variants, suites and families of inputs.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/memory_check.hpp"
#include "cli/progress.hpp"
#include "cli/selection.hpp"
#include "cli/verify_plan.hpp"
#include "cli/verify_report.hpp"
#include "cpu/features.hpp"
#include "cpu/side_by_side.hpp"
#include "measure/placed_problem.hpp"
#include "measure/rows_together.hpp"

namespace thresher::cli {
namespace {

constexpr InputFamily kFamilies[] = {InputFamily::kExact, InputFamily::kNatural,
                                     InputFamily::kFull};

struct VerifyOptions {
  std::string backend;
  std::string device;
  std::vector<std::string> suites;
  std::vector<std::string> problems;
  std::vector<std::string> variants;
  std::filesystem::path plan;
  std::vector<SelectedProblem> of_plan = {};  // its own classes
  std::vector<std::string> families;
  std::vector<int> thread_counts;
  std::uint64_t seed = 1;
  bool quick = false;
  bool json = false;
};

// A plan for device counts knows a limit only; it is larger than what comes.
constexpr std::int64_t kTokensSpare = 37;
// Multiply-adds that the emulator may take beside a GPU: about a second.
constexpr std::int64_t kEmulatedStepsMax = std::int64_t{1} << 23;

// One of several ways to run a variant: they must agree, with each other and with the oracle.
struct Way {
  std::string name;  // "2 threads", "sizes on the device"
  const Engine* engine = nullptr;
  bool device_counts = false;
  bool together = false;  // the rows of all groups follow each other; for exact sums
  bool beside = false;    // the emulator beside a GPU: for small problems with exact sums
};

// The engines of a backend, and the ways that they run.
class Ways {
 public:
  Ways(const Backend& backend, const VerifyOptions& options) {
    const EngineOptions base = engine_options(backend, options.device);
    for (const int count : distinct(backend.agreeing_threads(options.thread_counts))) {
      add_way_of_threads(base, count);
    }
    if (ways_.empty()) add_ways_of_counts(base, backend.checks.orders);
    add_way_of_routers();
    add_emulators(backend, base);
  }

  const std::vector<Way>& all() const { return ways_; }
  const Engine& first() const { return engines_.front(); }

 private:
  // In the emulator the two ways also differ in the order of events.
  void add_ways_of_counts(EngineOptions base, int order_count) {
    for (int order = 1; order <= order_count; ++order) {
      base.emulator_seed = static_cast<std::uint64_t>(order);
      engines_.emplace_back(base);
    }
    ways_.push_back({.name = "sizes on the host", .engine = &engines_.front()});
    ways_.push_back(
        {.name = "sizes on the device", .engine = &engines_.back(), .device_counts = true});
  }

  // Beside the first of the backends that run the same variants, the others do.
  void add_emulators(const Backend& backend, EngineOptions base) {
    if (&backend_of_variant(backend.variant_prefix) != &backend) return;
    base.emulator_seed = 2;
    for (const Backend* other : backends()) {
      if (other == &backend || other->variant_prefix != backend.variant_prefix) continue;
      base.device = other->name;
      ways_.push_back({.name = std::string(other->name),
                       .engine = &engines_.emplace_back(base),
                       .beside = true});
    }
  }

  void add_way_of_threads(EngineOptions base, int count) {
    base.thread_count = count;
    ways_.push_back({.name = threads_way(count), .engine = &engines_.emplace_back(base)});
  }

  void add_way_of_routers() {
    ways_.push_back({.name = "a router's rows",
                     .engine = &engines_.back(),
                     .device_counts = true,
                     .together = true});
  }

  std::deque<Engine> engines_;
  std::vector<Way> ways_;
};

std::int64_t steps(const Problem& problem) {
  std::int64_t sum = 0;
  for (const Group& group : problem.groups) sum += group.m * group.n * group.k;
  return sum;
}

// Every variant of the head that comes first, "cpu_avx2" of "cpu_avx2:stages=0", and the default of
// every other head.
std::vector<std::string> quick_variants(const std::vector<std::string>& variants) {
  const auto head_of = [](const std::string& variant) {
    return std::string_view(variant).substr(0, variant.find(':'));
  };
  std::vector<std::string> quick;
  for (const std::string& variant : variants) {
    const std::string_view head = head_of(variant);
    if (head == head_of(variants.front()) || head == variant) quick.push_back(variant);
  }
  return quick;
}

// A problem with its inputs where each engine wants them.
class Prepared {
 public:
  Prepared(const Problem& problem, const Inputs& inputs) : problem_(problem), inputs_(inputs) {}

  void run(const Way& way, const std::string& variant, const measure::GuardedOutputs& outputs) {
    const Engine& engine = *way.engine;
    const auto [found, is_new] = placed_.try_emplace(way.engine, engine, problem_, inputs_);
    const measure::PlacedOutputs placed_outputs(engine, outputs);
    std::vector<GroupOperands> groups = found->second.operands(placed_outputs);
    if (way.together) {
      for (GroupOperands& group : groups) group.rows = {};
      measure::RowsTogether rows(engine, problem_, inputs_, outputs);
      rows.send();
      call(way, variant, groups, rows.rows());
      return rows.fetch();
    }
    placed_outputs.send();
    if (way.device_counts) lend_rows(groups);
    call(way, variant, groups, {});
    placed_outputs.fetch();
  }

 private:
  void call(const Way& way, const std::string& variant, std::span<const GroupOperands> groups,
            const Rows& rows) const {
    const Engine& engine = *way.engine;
    const std::int64_t tokens_max = way.device_counts ? token_count(problem_) + kTokensSpare : 0;
    const Plan plan = engine.plan(problem_, variant, tokens_max);
    const Workspace workspace = engine.workspace(plan);
    const Buffer counts = counts_on(engine);
    Operands operands{.groups = groups, .rows = rows};
    if (way.device_counts) {
      operands.counts.counts = static_cast<const std::uint32_t*>(counts.data());
    }
    const Call call = engine.bind(plan, operands, workspace);
    // More than once: a call must leave its workspace and counters as it found them.
    for (int i = 0; i < engine.state().row().checks.calls; ++i) call.enqueue();
    engine.synchronize();
  }

  Buffer counts_on(const Engine& engine) const {
    std::vector<std::uint32_t> counts;
    for (const Group& group : problem_.groups) {
      counts.push_back(static_cast<std::uint32_t>(group.m));
    }
    Buffer buffer = engine.allocate(counts.size() * sizeof(std::uint32_t));
    buffer.copy_in(std::as_bytes(std::span(counts)));
    return buffer;
  }

  // Groups without rows have no memory, and with counts on the device they might get some.
  static void lend_rows(std::vector<GroupOperands>& groups) {
    const auto full = std::find_if(groups.begin(), groups.end(), [](const GroupOperands& group) {
      return group.rows.c != nullptr;
    });
    if (full == groups.end()) return;
    const Rows lent = full->rows;
    for (GroupOperands& group : groups) {
      if (group.rows.c == nullptr) group.rows = lent;
    }
  }

  const Problem& problem_;
  const Inputs& inputs_;
  std::map<const Engine*, measure::PlacedProblem> placed_;
};

constexpr const char* kPlanSuite = "plan";

void say(const VerifyOptions& options, const std::string& words) {
  fmt::print(stderr, "thresher: {}: {}\n", options.plan.string(), words);
}

// What the plan has for this machine joins what was asked for by name. False: nothing.
bool take_plan(VerifyOptions& options) {
  const PlanFile file = read_plan_file(options.plan);
  const bool asked = !options.backend.empty() || !options.variants.empty();
  const Backend* own = asked ? nullptr : backend_of_plan(file);
  const Backend& backend =
      own != nullptr ? *own : resolve_backend(options.backend, options.variants);
  options.backend = backend.name;
  const PlanToVerify found =
      plan_to_verify(file, Engine(engine_options(backend, options.device)).state());
  for (const std::string& words : found.left_out) say(options, words);
  if (found.variants.empty()) return false;
  say(options,
      fmt::format("{} variants that are better than the engine's choice", found.variants.size()));
  if (options.variants.empty()) options.variants = found.variants;
  for (const Problem& problem : found.problems) {
    const bool is_asked =
        options.problems.empty() || std::find(options.problems.begin(), options.problems.end(),
                                              problem.name) != options.problems.end();
    if (!is_asked) continue;
    options.of_plan.push_back(
        {.suite = kPlanSuite, .suite_argument = options.plan.string(), .problem = problem});
  }
  return true;
}

// Suites are left out where only problems of the plan were asked for.
std::vector<SelectedProblem> problems_of(const VerifyOptions& options) {
  std::vector<SelectedProblem> problems = options.of_plan;
  if (options.suites.empty() && !options.problems.empty() && !problems.empty()) return problems;
  const std::vector<std::string> suites =
      options.suites.empty() ? std::vector<std::string>{"edges", "small"} : options.suites;
  for (SelectedProblem& one : select_problems(suites, options.problems)) {
    problems.push_back(std::move(one));
  }
  return problems;
}

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options)
      : options_(options),
        problems_(problems_of(options)),
        backend_(resolve_backend(options.backend, options.variants)),
        ways_(backend_, options) {
    check_variant_names(options.variants);
    const std::string_view witness = backend_.checks.witness;
    if (!witness.empty()) witness_.emplace(EngineOptions{.device = std::string(witness)});
    const auto host_copies = static_cast<std::size_t>(backend_.checks.host_copies);
    check_problems_fit(problems_, host_copies * ways_.all().size(), 2);
    for (const InputFamily family : kFamilies) {
      const std::string name(to_string(family));
      const bool chosen = std::find(options.families.begin(), options.families.end(), name) !=
                          options.families.end();
      if (options.families.empty() || chosen) families_.push_back(family);
    }
  }

  // A case has all threads of the CPU, or the GPU, to itself; in the emulator cases run side by
  // side.
  VerifyReport run() {
    const std::size_t case_count = problems_.size() * families_.size();
    const std::size_t asked = backend_.checks.cases_at_a_time;
    const auto at_a_time = asked > 0 ? asked : static_cast<std::size_t>(cpu::usable_core_count());
    Progress progress(static_cast<std::int64_t>(case_count));
    std::mutex progress_mutex;
    std::vector<VerifyReport> reports(case_count);
    cpu::side_by_side(case_count, at_a_time, [&](std::size_t i) {
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
  VerifyReport run_case(const SelectedProblem& selected, InputFamily family) const {
    VerifyReport report;
    const Problem& problem = selected.problem;
    const Inputs inputs = make_inputs(problem, family, options_.seed);
    Prepared prepared(problem, inputs);
    // By name, so that a repeated case is the same whatever else is asked for.
    const std::uint64_t case_seed = named_seed(
        options_.seed, fmt::format("{} {} {}", selected.suite, problem.name, to_string(family)));
    VerifyCase verify_case(witness_engine(), problem, inputs,
                           {.family = family, .seed = case_seed});
    for (const std::string& variant : variants_for(problem)) {
      for (const Way& way : ways_.all()) {
        if (!takes(way, problem, family, variant)) continue;
        const bool exact = family == InputFamily::kExact;
        const Runner runner{
            .variant = variant,
            .way = way.name,
            .twin_set = backend_.twin_set(problem, variant, exact, way.device_counts)};
        const Support support = way.engine->supports(problem, variant);
        if (!support.ok) {
          report.add_skipped(runner, support.why_not);
          continue;
        }
        const Finding finding = verify_case.check(
            runner,
            [&](const measure::GuardedOutputs& outputs) { prepared.run(way, variant, outputs); });
        report.add_checked(runner, selected.suite + "/" + problem.name, finding);
        if (finding.ok) continue;
        report.add_failure({.backend = std::string(backend_.name),
                            .device = options_.device,
                            .suite = selected.suite,
                            .suite_option = selected.suite == kPlanSuite ? "--plan" : "--suite",
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

  // Nobody counts nothing on a device, and the emulator is too slow for large problems.
  bool takes(const Way& way, const Problem& problem, InputFamily family,
             const std::string& variant) const {
    // Where rows lie matters to addresses, and sums that are exact tell them all apart.
    if (way.together) {
      return family == InputFamily::kExact && measure::RowsTogether::fit(problem);
    }
    if (way.device_counts) return token_count(problem) > 0;
    if (!way.beside) return true;
    return family == InputFamily::kExact && steps(problem) <= kEmulatedStepsMax &&
           way.engine->supports(problem, variant).ok;
  }

  const Engine& witness_engine() const { return witness_ ? *witness_ : ways_.first(); }

  // What the user named, or everything that has a name here and what the engine would choose.
  std::vector<std::string> variants_for(const Problem& problem) const {
    if (!options_.variants.empty()) return distinct(options_.variants);
    std::vector<std::string> variants = ways_.first().variants();
    if (options_.quick) variants = quick_variants(variants);
    const std::string choice =
        backend_.choose(problem, token_count(problem), ways_.first().state().machine());
    if (std::find(variants.begin(), variants.end(), choice) == variants.end()) {
      variants.push_back(choice);
    }
    return variants;
  }

  const VerifyOptions options_;
  const std::vector<SelectedProblem> problems_;
  const Backend& backend_;
  const Ways ways_;
  std::optional<Engine> witness_;
  std::vector<InputFamily> families_;
};

void print(const VerifyReport& report, const VerifyOptions& options) {
  if (options.json) {
    report.print_json(options.seed);
  } else {
    report.print_tables(options.seed);
  }
}

int run_verify(VerifyOptions options) {
  if (!options.plan.empty() && !take_plan(options)) {
    say(options,
        "nothing in it is better than the engine's choice here, which 'verify' without "
        "--plan proves");
    if (options.json) print({}, options);
    return kExitOk;
  }
  const VerifyReport report = Verifier(options).run();
  print(report, options);
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
                  device_option(options->device),
                  {.name = "--suite",
                   .value = &options->suites,
                   .what = "Suite names or .toml files",
                   .default_text = "edges small"},
                  {"--problem", &options->problems, "Only these problems"},
                  {"--variant", &options->variants,
                   "Only these variants, named ones or not (see 'thresher variants')"},
                  {"--plan", &options->plan,
                   "Only the variants of this file of 'thresher tune', on its problems too"},
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
