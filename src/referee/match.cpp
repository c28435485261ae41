// SPDX-License-Identifier: Apache-2.0
#include "referee/match.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>

#include "cpu/features.hpp"
#include "gemm/random.hpp"
#include "referee/contestant/build.hpp"
#include "referee/contestant/sources.hpp"
#include "referee/gates.hpp"
#include "referee/same_plan.hpp"
#include "referee/sandbox/scratch.hpp"
#include "referee/timing/cores.hpp"
#include "referee/timing/heats.hpp"
#include "referee/timing/light.hpp"
#include "referee/venue.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using namespace referee;

constexpr double kSlowedTruth = 1 / (1 + kSlowedShare);

std::uint64_t secret_seed() {
  std::uint64_t seed = 0;
  while (seed == 0) {
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
      throw Error("the kernel gives no random bytes");
  }
  return seed;
}

Clock::time_point seconds_after(Clock::time_point begin, double seconds) {
  return begin +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check_suite(const Suite& suite) {
  if (suite.problems.empty()) throw Error(fmt::format("suite '{}' has no problems", suite.name));
  for (const Problem& problem : suite.problems) thresher::check(problem);
}

void check_earlier(const MatchSamples& earlier, const Suite& suite, const CallTiming& timing) {
  if (earlier.heats.empty()) return;
  if (earlier.timing && *earlier.timing != timing) {
    throw Error(
        fmt::format("the calls of the earlier heats were timed as {}, these would be as "
                    "{}: they cannot be read together",
                    to_string(*earlier.timing), to_string(timing)));
  }
  std::vector<std::string> problems;
  for (const Problem& problem : suite.problems) problems.push_back(problem.name);
  if (earlier.problems != problems) {
    throw Error(fmt::format("the earlier heats are of the problems {}, the suite '{}' has {}",
                            fmt::join(earlier.problems, ", "), suite.name,
                            fmt::join(problems, ", ")));
  }
  if (std::abs(earlier.slowed_truth - kSlowedTruth) > 1e-9) {
    throw Error(
        fmt::format("the earlier heats delayed the champion to {}x, this referee to {}x: "
                    "their controls cannot be read together",
                    earlier.slowed_truth, kSlowedTruth));
  }
}

// Who brings host code of its own cannot be asked for the time.
bool is_under_our_worker(const Contestant& contestant) {
  return contestant.kind == ContestantKind::kVariant || contestant.kind == ContestantKind::kCuda;
}

void check_backends(const Match& match) {
  const std::string_view champion = backend_of(match.champion).name;
  const std::string_view challenger = backend_of(match.challenger).name;
  if (champion == challenger && find_venue(champion) != nullptr) return;
  throw Error(
      fmt::format("the champion '{}' runs on the {}, the challenger '{}' on the {}: a match "
                  "is between two on the CPU or two on a GPU",
                  match.champion.name, champion, match.challenger.name, challenger));
}

// The gates and the heats of one match, and what they write down.
class Referee {
 public:
  Referee(const Suite& suite, const MatchOptions& options, const Backend& backend)
      : suite_(suite),
        options_(options),
        venue_(venue_of(backend.name)),
        begin_(Clock::now()),
        deadline_(seconds_after(begin_, options.seconds_max)),
        folder_(FolderOwner::kReferee) {
    check_suite(suite);
    check_earlier(options.earlier, suite, timing());
    record_.seed = options.seed != 0 ? options.seed : secret_seed();
    random_ = Random::secret(record_.seed);
    arm_.program = options.program;
    arm_.scratch = folder_.path();
    arm_.thread_count = options.thread_count != 0 ? options.thread_count : cpu::usable_core_count();
    arm_.call_timeout_seconds = options.call_timeout_seconds;
    arm_.confinement = options.confinement;
    bind_to_first_cores();
    hold_ = venue_.hold(options.gpu, arm_.thread_count, new_folder().path());
    hold_->equip(arm_);
    if (const std::string text = hold_->description(); !text.empty()) note(text);
    for (std::string& layer : venue_.stopping_layers(suite.problems.front(), arm_, record_.seed)) {
      arm_.confinement.without.push_back(std::move(layer));
    }
  }

  // True when the contestant may go on; otherwise the verdict stands.
  bool admit(const Contestant& contestant, const std::vector<SourceFile>& sources, Scope scope,
             Side& side) {
    const Clock::time_point begin = Clock::now();
    BuildOptions build_options{.program = options_.program,
                               .folder = new_folder().path(),
                               .confinement = options_.confinement,
                               .problems = suite_.problems};
    hold_->equip(build_options);
    BuildResult built = build(contestant, sources, build_options);
    side = std::move(built.side);
    std::optional<Fault> fault = std::move(built.fault);
    arm_.clock = clock_for({&contestant});
    if (!fault) {
      note(fmt::format("{}: built", contestant.name));
      GateResult gates = pass_gates(
          side.job, suite_,
          {.scope = scope,
           .arm = arm_,
           .seed = random_.next(),
           .deadline = deadline_,
           .log = [&](const std::string& text) { note(contestant.name + ": " + text); }});
      fault = std::move(gates.fault);
      record_.verdict.missing_protections = std::move(gates.refusals);
    }
    if (!fault) {
      note(fmt::format("{}: passed the gates, {:.1f} s", contestant.name, seconds_since(begin)));
    }
    if (fault) decide_by(*fault);
    return !fault;
  }

  void play(const Match& match, const Side& champion, const Side& challenger, double gain) {
    Light light(ceilings(champion, challenger), options_.cold,
                [this] { return venue_.rates_again(arm_); });
    arm_.clock = clock_for({&match.champion, &match.challenger});
    note(fmt::format("timed: {}", to_string(timing())));
    note_clock(match);
    bind_arms();
    const Contest contest{.suite = suite_,
                          .champion = champion,
                          .challenger = challenger,
                          .arm = arm_,
                          .light = light,
                          .blocks_per_problem = options_.blocks_per_problem,
                          .heats_min = options_.analysis.heats_min,
                          .cold = options_.cold,
                          .heat_seconds = seconds_left() / heats_left(),
                          .heat_seconds_max = heat_seconds_max(),
                          .champion_slowed_share = std::max(0.0, gain),
                          .challenger_slowed_share = std::max(0.0, -gain)};
    MatchSamples& samples = record_.samples;
    samples.heats = options_.earlier.heats;
    record_.earlier_heat_count = static_cast<int>(samples.heats.size());
    if (!samples.heats.empty()) note(fmt::format("goes on after {} heats", samples.heats.size()));
    for (const Problem& problem : suite_.problems) samples.problems.push_back(problem.name);
    samples.slowed_truth = kSlowedTruth;
    samples.timing = timing();
    samples.same_plan = same_plan(match);
    note_device("before");
    Heats heats(contest, random_.next());
    bool out_of_time = false;
    while (next_step(samples, match.terms, options_.analysis) == Next::kMoreHeats) {
      Heat heat = heats.play(random_.next(), deadline_);
      if (heat.fault) return decide_by(*heat.fault);
      out_of_time = heat.out_of_time;
      if (out_of_time) break;
      if (heat.pilot) note_pilot(*heat.pilot);
      note_heat(heat);
      timing_seconds_ += heat.seconds.timing;
      samples.heats.push_back(std::move(heat.samples));
    }
    note_device("after");
    note_timing_share();
    decide_by_samples(match.terms, out_of_time);
  }

  MatchRecord finish() {
    record_.seconds = seconds_since(begin_);
    if (options_.seed != 0) {
      record_.verdict.missing_protections.emplace_back(
          "secret inputs (the seed was given: whoever knows it can foresee them)");
    }
    return std::move(record_);
  }

  MatchRecord& record() { return record_; }

 private:
  CallTiming timing() const { return {.calls = venue_.surroundings, .cold = options_.cold}; }

  const ScratchFolder& new_folder() {
    return folders_.emplace_back(FolderOwner::kReferee, folder_.path());
  }

  void note(std::string text) {
    if (options_.progress) options_.progress(text);
    record_.log.push_back(std::move(text));
  }

  // The venue's if all are under our own worker: what the device cannot time is timed by the
  // referee, and so is its opponent.
  SampleClock clock_for(std::initializer_list<const Contestant*> contestants) const {
    const bool ours = std::all_of(contestants.begin(), contestants.end(),
                                  [](const Contestant* one) { return is_under_our_worker(*one); });
    return ours ? venue_.clock : SampleClock::kReferee;
  }

  std::vector<std::string> same_plan(const Match& match) {
    std::vector<std::string> names =
        problems_of_same_plan(match.champion, match.challenger, suite_, *arm_.engine);
    if (!names.empty()) {
      note(fmt::format("the same plan in both arms, no regression possible: {}",
                       fmt::join(names, ", ")));
    }
    return names;
  }

  MachineRates ceilings(const Side& champion, const Side& challenger) {
    const bool ours =
        champion.job.kind == JobKind::kVariant && challenger.job.kind == JobKind::kVariant;
    const Clock::time_point begin = Clock::now();
    const std::optional<MachineRates> rates = venue_.rates(arm_, ours);
    if (!rates) return {};
    note(fmt::format("the machine's ceilings: {:.1f} s", seconds_since(begin)));
    return *rates;
  }

  // As many as there are threads: what is not timed is held to them as well.
  void bind_to_first_cores() {
    for (const CoreUse& one : cores_before_) {
      if (static_cast<int>(arm_.cores.size()) < arm_.thread_count) arm_.cores.push_back(one.core);
    }
  }

  // With a thread on every core there is nothing to choose.
  void bind_arms() {
    std::vector<int> quietest = quietest_cores(cores_before_, core_use(), arm_.thread_count);
    if (quietest.empty()) return;
    arm_.cores = std::move(quietest);
    note(fmt::format("arms are bound to the quietest cores: {}", fmt::join(arm_.cores, ", ")));
  }

  // Worth a word where it could have been the device's.
  void note_clock(const Match& match) {
    if (venue_.clock != SampleClock::kDevice) return;
    note(arm_.clock == SampleClock::kDevice
             ? "clock: events on the device around a batch of calls"
             : "clock: the referee's, around a batch of calls, because a command takes part");
    for (const Contestant* one : {&match.champion, &match.challenger}) {
      if (one->kind != ContestantKind::kCommand) continue;
      note(fmt::format("{}: a command, its launches cannot be counted", one->name));
    }
  }

  void note_device(const char* when) {
    const std::string clocks = hold_->clocks();
    if (!clocks.empty()) note(fmt::format("device {} timing: {}", when, clocks));
  }

  // So that the fewest heats a verdict needs fit into two thirds of the time that is left, and
  // eight into all of it: bounds from fewer are wide, however well each is measured.
  double heat_seconds_max() const {
    return seconds_left() / std::max(8.0, 1.5 * options_.analysis.heats_min);
  }

  int heats_left() const {
    const int played = static_cast<int>(options_.earlier.heats.size());
    return std::max(1, options_.analysis.heats_limit() - played);
  }

  double seconds_left() const { return std::max(0.0, -seconds_since(deadline_)); }

  void note_pilot(const Pilot& pilot) {
    note(fmt::format(
        "pilot: calls of one process spread by {:.1f} %, one block of every problem "
        "takes {:.2f} s; {} blocks of each in a heat",
        100 * pilot.spread, pilot.block_seconds, pilot.repeats * options_.blocks_per_problem));
  }

  // What heats and gates left for timing.
  void note_timing_share() {
    const double all = seconds_since(begin_);
    note(fmt::format("timing was {:.0f} % of {:.1f} s", 100 * timing_seconds_ / all, all));
  }

  void note_heat(const Heat& heat) {
    const HeatSeconds& seconds = heat.seconds;
    note(fmt::format(
        "heat {}: packing took {:.1f} ms (champion) and {:.1f} ms (challenger); {:.2f} s in all: "
        "inputs {:.2f}, starting {:.2f}, packing {:.2f}, warming up {:.2f}, timing {:.2f}, "
        "ending {:.2f}",
        record_.samples.heats.size() + 1, 1e3 * heat.champion_prepare_seconds,
        1e3 * heat.challenger_prepare_seconds, seconds.all(), seconds.inputs, seconds.start,
        seconds.prepare, seconds.warm_up, seconds.timing, seconds.end));
  }

  void decide_by(const Fault& fault) {
    // Whatever fails on a full disk is nobody's fault but its owner's.
    check_room(folder_.path());
    record_.verdict.kind = fault.kind;
    record_.verdict.check = fault.check;
    record_.verdict.reason = fault.reason;
    record_.verdict.timing = record_.samples.timing;
    note(fmt::format("{} ({}): {}", to_string(fault.kind), fault.check, fault.reason));
  }

  void decide_by_samples(const DealTerms& terms, bool out_of_time) {
    if (record_.samples.heats.empty()) {
      decide_by({VerdictKind::kUnclear, check::kTime,
                 fmt::format("the time of {} s was over before the first heat was",
                             options_.seconds_max)});
      return;
    }
    Verdict verdict = decide(record_.samples, terms, options_.analysis);
    verdict.missing_protections = std::move(record_.verdict.missing_protections);
    if (out_of_time) {
      verdict.reason += fmt::format(" (stopped after {} heats by the limit of {:.3g} s)",
                                    record_.samples.heats.size(), options_.seconds_max);
    }
    record_.verdict = std::move(verdict);
    note(fmt::format("{} ({}): {}", to_string(record_.verdict.kind), record_.verdict.check,
                     record_.verdict.reason));
  }

  const Suite& suite_;
  const MatchOptions& options_;
  const Venue& venue_;
  const Clock::time_point begin_;
  const Clock::time_point deadline_;
  const ScratchFolder folder_;
  std::deque<ScratchFolder> folders_;  // one per contestant and one for kernels, in folder_
  Random random_{0};
  const std::vector<CoreUse> cores_before_ = core_use();
  ArmOptions arm_;
  double timing_seconds_ = 0;
  MatchRecord record_;
  std::unique_ptr<Hold> hold_;
};

}  // namespace

MatchRecord referee::judge_with_gain(const Match& match, double gain) {
  check_backends(match);
  Referee referee(match.suite, match.options, backend_of(match.champion));
  // Once, at the beginning: whoever changes a file later changes neither who it was nor who plays.
  const std::vector<SourceFile> champion_sources = read_sources(match.champion);
  const std::vector<SourceFile> challenger_sources = read_sources(match.challenger);
  referee.record().champion_hash = hash_as_read(match.champion, champion_sources);
  referee.record().challenger_hash = hash_as_read(match.challenger, challenger_sources);
  Side champion;
  Side challenger;
  // Who was timed in an earlier stretch has passed all gates then; every timed call is checked
  // anyway.
  const Scope scope = match.options.earlier.heats.empty() ? Scope::kAll : Scope::kSmoke;
  if (!referee.admit(match.challenger, challenger_sources, scope, challenger)) {
    return referee.finish();
  }
  std::vector<std::string> missing = referee.record().verdict.missing_protections;
  if (!referee.admit(match.champion, champion_sources, Scope::kSmoke, champion)) {
    throw Error(fmt::format("the champion '{}' failed (check '{}'): {}", match.champion.name,
                            referee.record().verdict.check, referee.record().verdict.reason));
  }
  referee.record().verdict.missing_protections = std::move(missing);
  referee.play(match, champion, challenger, gain);
  return referee.finish();
}

MatchRecord judge(const Match& match) { return judge_with_gain(match, 0); }

Verdict check_contestant(const Contestant& contestant, const Suite& suite,
                         const MatchOptions& options) {
  Referee referee(suite, options, backend_of(contestant));
  Side side;
  if (!referee.admit(contestant, read_sources(contestant), Scope::kAll, side)) {
    return referee.finish().verdict;
  }
  Verdict verdict = referee.finish().verdict;
  verdict.kind = VerdictKind::kAccepted;
  verdict.check = "gates";
  verdict.reason = "builds, runs and is right on the suite's problems and on hidden ones";
  return verdict;
}

}  // namespace thresher
