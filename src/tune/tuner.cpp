// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backend/backend.hpp"
#include "gemm/inputs.hpp"
#include "measure/clock.hpp"
#include "measure/statistics.hpp"
#include "measure/variant_entrant.hpp"
#include "parallel.hpp"
#include "thresher/error.hpp"

namespace thresher::tune {
namespace {

using HostTime = std::chrono::steady_clock;

// What is prepared ahead is worth a wider race: there is always more of it ready than one can hold.
HuntOptions hunt_on(const Engine& engine, HuntOptions options) {
  options.racer_count = std::max(options.racer_count, engine.state().row().plans_ahead);
  return options;
}

// Cold copies of one problem, called in turn.
class DeviceTrack final : public Track {
 public:
  // A sham variant is what every entrant is in truth; empty: what it says.
  DeviceTrack(const Engine& engine, const Problem& problem, measure::ColdProblem& cold,
              std::string sham)
      : engine_(engine),
        problem_(problem),
        cold_(cold),
        sham_(std::move(sham)),
        clock_(measure::make_clock(engine, {.copy_count = cold.copy_count()})) {}

  bool enter(const std::string& variant) override {
    try {
      variants_.emplace_back(engine_, problem_, sham_.empty() ? variant : sham_, cold_,
                             /*device_counts=*/false);
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  std::vector<double> play_round(std::span<const std::size_t> order) override {
    if (entrants_.empty()) get_ready();
    clock_->queue({order.begin(), order.end()});
    return clock_->collect_us();
  }

 private:
  void get_ready() {
    for (measure::VariantEntrant& variant : variants_) {
      entrants_.push_back(variant.entrant(clock_->stream()));
    }
    clock_->get_ready(entrants_);
  }

  const Engine& engine_;
  const Problem& problem_;
  measure::ColdProblem& cold_;
  const std::string sham_;
  const std::unique_ptr<measure::Clock> clock_;
  std::deque<measure::VariantEntrant> variants_;  // entrants point at them
  std::vector<measure::Entrant> entrants_;
};

// Whether more heats may decide what these did not.
bool is_open(const Verdict& verdict, const DealTerms& terms) {
  if (verdict.kind != VerdictKind::kUnclear) return false;
  if (verdict.check == referee::check::kControls) return false;
  return !verdict.estimate || verdict.estimate->speedup.high > terms.speedup_min;
}

// A match that cannot be played, for want of time or because the choice itself fails in it, decides
// nothing: the choice stays, and other problems are still to be tuned.
Ruling ruling_of(const Match& match) {
  try {
    MatchRecord record = judge(match);
    const Verdict& verdict = record.verdict;
    Ruling ruling{.accepted = verdict.kind == VerdictKind::kAccepted,
                  .reason = fmt::format("{}: {}", to_string(verdict.kind), verdict.reason)};
    if (verdict.estimate) ruling.speedup = verdict.estimate->speedup;
    if (is_open(verdict, match.terms)) {
      ruling.open = {
          .samples = std::move(record.samples),
          .more_heats_needed = verdict.estimate ? verdict.estimate->more_heats_needed : 0};
    }
    return ruling;
  } catch (const Error& error) {
    return {.reason = fmt::format("{}: {}", to_string(VerdictKind::kUnclear), error.what())};
  }
}

// `earlier`: the heats of a match that goes on.
Ruling judged(const Problem& problem, const std::string& choice, const std::string& challenger,
              double seconds, const TuneOptions& options, const MatchSamples& earlier = {}) {
  Match match{.champion = {.name = "choice", .variant = choice},
              .challenger = {.name = "tuned", .variant = options.sham ? choice : challenger},
              .suite = {.name = problem.name, .problems = {problem}},
              .terms = options.terms,
              .options = options.match};
  match.options.seconds_max = seconds;
  match.options.earlier = earlier;
  match.options.analysis.heats_more = static_cast<int>(earlier.heats.size());
  return ruling_of(match);
}

// Whoever is the fastest of thousands was lucky as well: shares of a sweep race again, the fewer
// the more often, and only that counts for them.
struct SweepStage {
  double fast_share = 0;
  std::size_t fast_min = 0;
  int races = 0;
};
constexpr SweepStage kSweepStages[] = {{0.1, 8, 3}, {0.01, 3, 9}};

VariantSpace part_of(const VariantSpace& space,
                     const std::function<bool(const std::string& variant)>& wanted) {
  VariantSpace part;
  part.space.knobs = space.space.knobs;
  part.space.values = space.space.values;
  for (std::size_t point = 0; point < space.names.size(); ++point) {
    if (!wanted(space.names[point])) continue;
    part.space.points.push_back(space.space.points[point]);
    part.space.guesses.push_back(space.space.guesses[point]);
    part.names.push_back(space.names[point]);
  }
  return part;
}

VariantSpace fastest_of(const VariantSpace& space, std::vector<Trial> trials,
                        const SweepStage& stage) {
  std::sort(trials.begin(), trials.end(),
            [](const Trial& a, const Trial& b) { return a.speedup > b.speedup; });
  const double share = stage.fast_share * static_cast<double>(trials.size());
  const std::size_t count = std::max(static_cast<std::size_t>(share), stage.fast_min);
  trials.resize(std::min(trials.size(), count));
  std::set<std::string> fast;
  for (const Trial& trial : trials) fast.insert(trial.variant);
  return part_of(space, [&](const std::string& variant) { return fast.contains(variant); });
}

// A device and a problem to race on, as a racecourse; whoever judges is the caller's.
class DeviceCourse {
 public:
  DeviceCourse(const Engine& engine, const Problem& problem, const TuneOptions& options)
      : engine_(engine),
        problem_(problem),
        begin_(HostTime::now()),
        choice_(choice_of(engine, problem)),
        sham_(options.sham ? choice_ : std::string()),
        space_(space_of(engine, problem, options)),
        seed_(options.hunt.seed) {}

  const std::string& choice() const { return choice_; }
  const VariantSpace& space() const { return space_; }
  Racecourse with(std::function<Ruling(const std::string&, double)> judge) {
    return {.open_track =
                [this] { return std::make_unique<DeviceTrack>(engine_, problem_, cold(), sham_); },
            .workshop = workshop(),
            .judge = std::move(judge),
            .seconds =
                [this] { return std::chrono::duration<double>(HostTime::now() - begin_).count(); }};
  }

 private:
  // A plan of it is made when it races.
  static std::string choice_of(const Engine& engine, const Problem& problem) {
    std::string choice = engine.choose(problem);
    const Support support = engine.supports(problem, choice);
    if (support.ok) return choice;
    throw Error(fmt::format("variant '{}' cannot run problem '{}': {}", choice, problem.name,
                            support.why_not));
  }

  // Compilers have all cores but the one that the races need. A sham has one variant.
  std::function<std::unique_ptr<Workshop>()> workshop() const {
    const std::size_t ahead = engine_.state().row().plans_ahead;
    if (ahead == 0 || !sham_.empty()) return {};
    return [this, ahead] {
      return open_workshop(std::max(1, hardware_thread_count() - 1), ahead,
                           [this](const std::string& variant) {
                             engine_.state().prepare(problem_, variant, token_count(problem_));
                           });
    };
  }

  // Made when they are first needed: compilers are at work by then.
  measure::ColdProblem& cold() {
    if (!cold_) {
      inputs_ = make_inputs(problem_, InputFamily::kNatural, seed_);
      cold_.emplace(engine_, problem_, inputs_);
    }
    return *cold_;
  }

  static VariantSpace space_of(const Engine& engine, const Problem& problem,
                               const TuneOptions& options) {
    Machine machine = engine.state().machine();
    machine.rates = options.rates;
    const VariantSpace all = variant_space(engine.state().row(), problem, machine);
    VariantSpace space = part_of(all, options.allows);
    if (space.names.empty()) {
      throw Error(fmt::format("{} '{}'",
                              all.names.empty() ? "no variant runs" : "constraints leave none for",
                              problem.name));
    }
    return space;
  }

  const Engine& engine_;
  const Problem& problem_;
  const HostTime::time_point begin_;
  const std::string choice_;
  const std::string sham_;
  const VariantSpace space_;
  const std::uint64_t seed_;
  Inputs inputs_;
  std::optional<measure::ColdProblem> cold_;
};

}  // namespace

Catch tune(const Engine& engine, const Problem& problem, const TuneOptions& options) {
  DeviceCourse course(engine, problem, options);
  const Racecourse judged_course = course.with([&](const std::string& challenger, double seconds) {
    return judged(problem, course.choice(), challenger, seconds, options);
  });
  return hunt(course.space(), course.choice(), judged_course, hunt_on(engine, options.hunt));
}

Ruling play_on(const Problem& problem, const Catch& found, double seconds,
               const TuneOptions& options) {
  return judged(problem, found.state.choice, found.state.variant, seconds, options,
                found.ruling.open->samples);
}

Sweep sweep(const Engine& engine, const Problem& problem, const TuneOptions& options) {
  DeviceCourse course(engine, problem, options);
  HuntOptions whole = hunt_on(engine, options.hunt);
  whole.seconds = std::numeric_limits<double>::infinity();
  const auto nobody = [](const std::string&, double) { return Ruling{}; };
  const Racecourse races = course.with(nobody);
  HuntState state = hunt(course.space(), course.choice(), races, whole).state;
  for (const SweepStage& stage : kSweepStages) {
    const VariantSpace fast = fastest_of(course.space(), state.trials, stage);
    std::map<std::string, std::vector<double>> speedups;
    for (int again = 0; again < stage.races && !fast.names.empty(); ++again) {
      ++whole.seed;
      for (const Trial& trial : hunt(fast, course.choice(), races, whole).state.trials) {
        speedups[trial.variant].push_back(trial.speedup);
      }
    }
    for (Trial& trial : state.trials) {
      const auto found = speedups.find(trial.variant);
      if (found != speedups.end()) trial.speedup = measure::median(found->second);
    }
  }
  return {course.space(), std::move(state)};
}

}  // namespace thresher::tune
