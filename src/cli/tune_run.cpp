// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "cli/backend_option.hpp"
#include "cli/contestant_threads.hpp"
#include "cli/ledger_path.hpp"
#include "cli/memory_check.hpp"
#include "cli/progress.hpp"
#include "control.hpp"
#include "tank/pitch/constraint.hpp"
#include "tune/overtime.hpp"
#include "tune/recorded_space.hpp"

namespace thresher::cli {
namespace {

using HostTime = std::chrono::steady_clock;

constexpr double kCeilingSeconds = 0.3;

// What is lost at most when somebody interrupts it.
constexpr double kSaveSeconds = 1;

double seconds_between(HostTime::time_point begin, HostTime::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

std::vector<PlanStory::Moment> moments_of(const std::vector<tune::TracePoint>& trace) {
  std::vector<PlanStory::Moment> moments;
  for (const tune::TracePoint& point : trace) {
    moments.push_back({point.seconds, static_cast<std::int64_t>(point.tried_count), point.speedup});
  }
  return moments;
}

PlanSearch search_from(const Problem& problem, const tune::HuntState& state, double seconds) {
  PlanSearch search{.of = *plan_class(problem),
                    .tokens = token_count(problem),
                    .seconds = seconds,
                    .trials = {},
                    .trace = moments_of(state.trace)};
  for (const tune::Trial& trial : state.trials) {
    search.trials.push_back({trial.variant, trial.speedup});
  }
  return search;
}

std::string hunt_text(const tune::HuntState& state, double seconds_left) {
  if (state.at_the_referee) {
    return fmt::format("the referee plays {} against the engine's choice, {:.0f} s left",
                       state.variant, seconds_left);
  }
  std::string best = state.variant == state.choice
                         ? "the engine's choice is the best so far"
                         : fmt::format("best {:.3f}x {}", state.raced_speedup, state.variant);
  return fmt::format("{} of {} tried, {:.0f} s left, {}", state.tried_count, state.space_size,
                     std::max(0.0, seconds_left), best);
}

Engine engine_for(const TuneRules& rules) {
  const Backend& backend = resolve_backend(rules.backend);
  EngineOptions options = engine_options(backend);
  options.thread_count = backend.threads(contestant_threads(rules.thread_count));
  return Engine(options);
}

void check_they_fit(const std::vector<Problem>& problems, const Backend& backend) {
  std::vector<SelectedProblem> asked;
  for (const Problem& problem : problems) {
    asked.push_back({.suite = {}, .suite_argument = {}, .problem = problem});
  }
  check_cold_problems_fit(asked, backend);
}

// A variant is vetoed as a pitch of it would be.
std::function<bool(const std::string&)> allowed_by(const TuneRules& rules, const Backend& backend) {
  std::vector<Constraint> constraints = builtin_constraints();
  for (const std::string& text : rules.constraints) {
    for (Constraint& one : parse_constraints(text, "--constraints")) {
      constraints.push_back(std::move(one));
    }
  }
  const ConstraintContext context{.device = backend.device_name()};
  return [constraints, context, name = std::string(backend.name)](const std::string& variant) {
    Pitch pitch;
    pitch.name = variant;
    pitch.backend = name;
    pitch.contestant.variant = variant;
    return !find_veto(pitch, constraints, context);
  };
}

class TuneRun {
 public:
  TuneRun(const std::vector<Problem>& problems, const TuneRules& rules, TunedPlan& plan)
      : problems_(problems),
        rules_(rules),
        plan_(plan),
        engine_(engine_for(rules)),
        machine_(fingerprint_of(engine_.state())),
        progress_(static_cast<std::int64_t>(problems.size()), {}) {
    std::vector<Problem> asked;
    for (const Problem& problem : problems_) {
      if (rules.again) plan_.forget(machine_, problem);
      if (plan_.entry(machine_, problem) == nullptr) asked.push_back(problem);
    }
    check_they_fit(asked, engine_.state().row());
    left_ = asked.size();
  }

  std::vector<TunedProblem> run() {
    share_out();
    if (left_ > 0) measure_rates();
    std::vector<TunedProblem> tuned;
    for (const Problem& problem : problems_) {
      progress_.begin_step(problem.name);
      if (const PlanEntry* before = plan_.entry(machine_, problem); before != nullptr) {
        tuned.push_back({problem, machine_, *before, /*is_new=*/false});
      } else {
        found_.push_back({tuned.size(), tune_one(problem)});
        tuned.push_back({problem, machine_, keep(problem, found_.back().found)});
      }
    }
    play_unclear_on(tuned);
    progress_.clear();
    return tuned;
  }

 private:
  struct Found {
    std::size_t index = 0;  // of the problem
    tune::Catch found;
  };

  PlanEntry keep(const Problem& problem, const tune::Catch& found) {
    PlanEntry entry = plan_entry(problem, found, rules_.at_random);
    plan_.keep(machine_, entry);
    return entry;
  }

  // What the problems have left of the budget is for matches that it was too short for.
  void play_unclear_on(std::vector<TunedProblem>& tuned) {
    std::vector<tune::Ruling> rulings;
    for (const Found& one : found_) rulings.push_back(one.found.ruling);
    tune::play_overtime(
        rulings, [this] { return seconds_left_; },
        [&](std::size_t i, double seconds) {
          TunedProblem& one = tuned[found_[i].index];
          progress_.update(fmt::format("{}: its match was unclear and goes on, {:.0f} s left",
                                       one.problem.name, seconds_left_));
          const HostTime::time_point begin = HostTime::now();
          found_[i].found.ruling =
              tune::play_on(one.problem, found_[i].found, seconds, tune_options());
          seconds_left_ -= seconds_between(begin, HostTime::now());
          one.entry = keep(one.problem, found_[i].found);
          return found_[i].found.ruling;
        });
  }

  // Each problem has the same share of the budget. What the file has is done; what an earlier run
  // spent on a search that it could not finish is spent.
  void share_out() {
    seconds_left_ =
        rules_.seconds * static_cast<double>(left_) / static_cast<double>(problems_.size());
    if (left_ == 0) {
      fmt::print(stderr, "{} has all of it already; --again tunes it anew\n",
                 plan_.path().string());
      return;
    }
    fmt::print(stderr, "{} of {} problems to tune in {:.0f} s on {}\n", left_, problems_.size(),
               seconds_left_, engine_.description());
  }

  void measure_rates() {
    const HostTime::time_point begin = HostTime::now();
    rates_ = engine_.state().measure_ceilings(kCeilingSeconds).rates;
    seconds_left_ -= seconds_between(begin, HostTime::now());
  }

  tune::TuneOptions tune_options() const {
    return {.hunt = {.seed = rules_.seed, .at_random = rules_.at_random},
            .rates = rates_,
            .terms = rules_.terms,
            .match = match_of_tuning(engine_, rules_),
            .allows = allowed_by(rules_, engine_.state().row()),
            .sham = rules_.sham};
  }

  tune::TuneOptions options_of_one() {
    tune::TuneOptions options = tune_options();
    options.hunt.seconds = std::max(1.0, seconds_left_ / static_cast<double>(left_--));
    return options;
  }

  tune::Catch tune_one(const Problem& problem) {
    tune::TuneOptions options = options_of_one();
    if (const PlanSearch* before = plan_.search(machine_, problem); before != nullptr) {
      options.hunt.earlier_seconds = before->seconds;
      for (const PlanSearch::Trial& trial : before->trials) {
        options.hunt.earlier.push_back({trial.variant, trial.speedup});
      }
      for (const PlanStory::Moment& moment : before->trace) {
        options.hunt.earlier_trace.push_back(
            {moment.seconds, static_cast<std::size_t>(moment.tried), moment.speedup});
      }
    }
    const HostTime::time_point begin = HostTime::now();
    HostTime::time_point saved = begin;
    bool announced = false;
    options.hunt.watch = [&](const tune::HuntState& state) {
      const HostTime::time_point now = HostTime::now();
      const double passed = options.hunt.earlier_seconds + seconds_between(begin, now);
      if (!std::exchange(announced, true)) announce(problem, state, options.hunt);
      progress_.update(
          fmt::format("{}: {}", problem.name, hunt_text(state, options.hunt.seconds - passed)));
      if (state.trials.empty() || seconds_between(saved, now) < kSaveSeconds) return;
      saved = now;
      plan_.keep(machine_, search_from(problem, state, passed));
    };
    tune::Catch found = tune::tune(engine_, problem, options);
    seconds_left_ -= options.hunt.earlier_seconds + seconds_between(begin, HostTime::now());
    return found;
  }

  // What there is to search, and how.
  void announce(const Problem& problem, const tune::HuntState& state,
                const tune::HuntOptions& options) {
    progress_.clear();
    fmt::print(stderr,
               "{}: {} variants, {:.0f} s: the model of time's favourites, then what trees "
               "and neighbours propose, in races; the referee decides\n",
               problem.name, state.space_size, options.seconds);
    if (options.earlier.empty()) return;
    fmt::print(stderr, "{}: goes on after {:.0f} s and {} variants\n", problem.name,
               options.earlier_seconds, options.earlier.size());
  }

  const std::vector<Problem>& problems_;
  const TuneRules& rules_;
  TunedPlan& plan_;
  const Engine engine_;
  const PlanFingerprint machine_;
  Progress progress_;
  MachineRates rates_;
  std::size_t left_ = 0;     // problems still to tune
  double seconds_left_ = 0;  // for them, and then for matches that are open
  std::vector<Found> found_;
};

}  // namespace

MatchOptions match_of_tuning(const Engine& engine, const TuneRules& rules) {
  MatchOptions options;
  options.thread_count = engine.thread_count();
  options.gpu = engine_options(engine.state().row());
  options.confinement.hidden = hidden_from_contestants();
  for (const std::filesystem::path& path : rules.hidden) {
    options.confinement.hidden.push_back(path);
  }
  return options;
}

PlanEntry plan_entry(const Problem& problem, const tune::Catch& found, bool at_random) {
  const tune::HuntState& state = found.state;
  // Two heats that disagree leave everything between 0 and infinity open, which no file can hold:
  // such a match has said nothing, and its reason says so.
  const Estimate& heard = found.ruling.speedup;
  const bool is_closed = heard.value > 0 && heard.low > 0 && std::isfinite(heard.high);
  const Estimate speedup = is_closed ? heard : Estimate{.value = 1, .low = 1, .high = 1};
  PlanEntry entry{.of = *plan_class(problem),
                  .tokens = token_count(problem),
                  .measured = measured_of(problem),
                  .variant = state.variant,
                  .choice = state.choice,
                  .better = found.ruling.accepted,
                  .speedup = speedup.value,
                  .low = speedup.low,
                  .high = speedup.high,
                  .reason = without_control(found.ruling.reason)};
  PlanStory story{.space = static_cast<std::int64_t>(state.space_size),
                  .tried = static_cast<std::int64_t>(state.tried_count),
                  .choice_us = state.choice_us,
                  .at_random = at_random,
                  .trace = moments_of(state.trace)};
  if (story.choice_us > 0) entry.story = std::move(story);
  return entry;
}

std::vector<TunedProblem> tune_here(const std::vector<Problem>& problems, const TuneRules& rules,
                                    TunedPlan& plan) {
  return TuneRun(problems, rules, plan).run();
}

SweptProblem sweep_here(const Problem& problem, const TuneRules& rules) {
  const Engine engine = engine_for(rules);
  check_they_fit({problem}, engine.state().row());
  Progress progress(1, {});
  progress.begin_step(problem.name);
  tune::TuneOptions options{.hunt = {.seed = rules.seed},
                            .rates = engine.state().measure_ceilings(kCeilingSeconds).rates,
                            .terms = rules.terms,
                            .match = match_of_tuning(engine, rules),
                            .allows = allowed_by(rules, engine.state().row())};
  options.hunt.watch = [&](const tune::HuntState& state) {
    progress.update(fmt::format("{} of {} variants", state.tried_count, state.space_size));
  };
  const tune::Sweep swept = tune::sweep(engine, problem, options);
  progress.clear();
  SweptProblem result{.best = swept.state.choice,
                      .best_us = swept.state.choice_us,
                      .choice_us = swept.state.choice_us};
  std::map<std::string, double> us{{swept.state.choice, swept.state.choice_us}};
  for (const tune::Trial& trial : swept.state.trials) {
    us[trial.variant] = trial.speedup > 0 ? swept.state.choice_us / trial.speedup : 0;
    if (trial.speedup == 0 || us[trial.variant] >= result.best_us) continue;
    result.best = trial.variant;
    result.best_us = us[trial.variant];
  }
  result.t4 = tune::recorded_space_to_json(swept.space, us);
  result.variant_count = us.size();
  return result;
}

}  // namespace thresher::cli
