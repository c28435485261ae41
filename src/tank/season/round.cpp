// SPDX-License-Identifier: Apache-2.0
#include "tank/season/round.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/backends.hpp"
#include "gemm/random.hpp"
#include "referee/fault.hpp"
#include "referee/statistics/json.hpp"
#include "tank/pitch/constraint.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

bool has_lost(VerdictKind kind) {
  return kind == VerdictKind::kRejected || kind == VerdictKind::kWrong ||
         kind == VerdictKind::kInvalid;
}

// What a measured ceiling accuses of is no property of the idea: the ceiling belongs to one machine
// at one moment, and a constraint would outlive it.
bool teaches(const Verdict& verdict) {
  return has_lost(verdict.kind) && verdict.check != referee::check::kSpeedOfLight;
}

// Wrong answers and broken builds do not mend themselves when the champion changes; a mere loss
// may.
bool is_final(VerdictKind kind) {
  return kind == VerdictKind::kWrong || kind == VerdictKind::kInvalid;
}

// A stretch shorter than this would hardly play a heat; one that played none at all was far too
// short for this machine.
constexpr double kStretchSecondsMin = 5;
constexpr double kLongerWithoutHeats = 3;

// As people write it in a verdict.
double tenths(double seconds) { return std::floor(10 * seconds) / 10; }

// Whether the champion is part of what runs: knobs are laid over it, everything else stays what it
// is, and what lost against one champion does not beat a faster one.
bool is_laid_over_champion(const Pitch& pitch) {
  return pitch.contestant.kind == ContestantKind::kVariant && pitch.contestant.variant.empty();
}

// Groups of `size` in the order of `line`, the last one with what is left.
std::vector<std::vector<std::string>> batches_of(const std::vector<std::string>& line, int size) {
  std::vector<std::vector<std::string>> batches;
  for (const std::string& one : line) {
    if (batches.empty() || batches.back().size() == static_cast<std::size_t>(size)) {
      batches.emplace_back();
    }
    batches.back().push_back(one);
  }
  return batches;
}

std::vector<std::string> sharks_of(const std::vector<Ballot>& ballots) {
  std::set<std::string> names;
  for (const Ballot& ballot : ballots) names.insert(ballot.shark);
  return {names.begin(), names.end()};
}

}  // namespace

RoundPlayer::RoundPlayer(SeasonLog& log, const SeasonRules& rules, const SeasonTools& tools,
                         std::vector<Ballot> votes)
    : log_(log), rules_(rules), tools_(tools), box_(log, rules, tools, std::move(votes)) {}

bool RoundPlayer::play(double deadline) {
  number_ = log_.record.current_round();
  deadline_ = deadline;
  const auto known = log_.record.rounds.find(number_);
  const bool is_sealed = known != log_.record.rounds.end() && !known->second.seal.empty();
  if (!is_sealed) {
    const std::vector<Pitch> entrants = candidates();
    if (entrants.empty()) return false;
    box_.collect(number_, entrants);
  }
  box_.seal(number_);
  try_pitches();
  build_controls();
  if (!round().is_scored) log_.append("credibility", credibility_entry(log_.record, number_));
  finish();
  return true;
}

// The pitches that may enter, with the contestants that would run.
std::vector<Pitch> RoundPlayer::candidates() {
  std::vector<Pitch> found;
  const std::vector<Pitch> pitches = log_.record.pitches;
  for (const Pitch& pitch : pitches) {
    if (is_out(pitch)) continue;
    if (std::optional<Pitch> ready = entered(pitch)) found.push_back(std::move(*ready));
  }
  return found;
}

// Judged against this champion, or beyond mending.
bool RoundPlayer::is_out(const Pitch& pitch) const {
  for (const auto& [number, round] : log_.record.rounds) {
    for (const PlayedMatch& match : round.matches) {
      if (match.pitch != pitch.name) continue;
      if (is_final(match.verdict.kind)) return true;
      if (match.verdict.kind == VerdictKind::kRejected && !is_laid_over_champion(pitch))
        return true;
      // A control that was accepted has not had its chance at the title.
      const bool was_control_win = match.control && match.verdict.kind == VerdictKind::kAccepted;
      if (match.champion_hash == log_.record.champion_hash && !was_control_win) return true;
    }
  }
  return false;
}

// The pitch with its knobs laid over the champion's; nothing if it is vetoed or is the champion.
std::optional<Pitch> RoundPlayer::entered(const Pitch& pitch) {
  const SeasonRecord& record = log_.record;
  if (pitch.backend != rules_.backend) {
    veto(pitch, "backend",
         fmt::format("this season is played on the {}, the pitch needs {}",
                     backend_named(rules_.backend).title, pitch.backend));
    return std::nullopt;
  }
  Pitch ready = pitch;
  try {
    ready.contestant = contestant_against(pitch, record.champion);
  } catch (const Error& error) {
    veto(pitch, "contestant", error.what());
    return std::nullopt;
  }
  // What the champion does already. A pitch without knobs means to be its copy: a control.
  const bool turns_nothing = ready.contestant.kind == ContestantKind::kVariant &&
                             ready.contestant.variant == record.champion.variant;
  if (turns_nothing && !(pitch.knobs.empty() && pitch.contestant.variant.empty())) {
    return std::nullopt;
  }
  // A variant says for itself what it cannot run, so nobody has to build it to find out; laid over
  // another champion its knobs may do.
  const std::string why_not =
      ready.contestant.variant.empty()
          ? ""
          : first_refusal(ready.contestant.variant, rules_.suite, machine_of(record, rules_));
  if (!why_not.empty()) {
    veto(pitch, "support", why_not);
    return std::nullopt;
  }
  std::vector<Constraint> constraints = builtin_constraints();
  for (Constraint& one : learned_constraints(log_.ledger)) constraints.push_back(std::move(one));
  const std::optional<Veto> stop = find_veto(ready, constraints,
                                             {.suite = rules_.suite.name,
                                              .season = rules_.season,
                                              .champion_hash = record.champion_hash,
                                              .device = rules_.device});
  if (!stop) return ready;
  veto(pitch, stop->constraint, stop->reason);
  return std::nullopt;
}

// Said once, not in every round that it still holds.
void RoundPlayer::veto(const Pitch& pitch, const std::string& constraint,
                       const std::string& reason) {
  const auto last = log_.record.vetoes.find(pitch.name);
  if (last != log_.record.vetoes.end() && last->second == constraint) return;
  announce(tools_, fmt::format("{}: vetoed: {}", pitch.name, reason));
  log_.append(
      "veto",
      {{"round", number_}, {"pitch", pitch.name}, {"constraint", constraint}, {"reason", reason}});
}

// By the panel's points; but a pitch that nobody has measured yet comes before one that had its
// match in an earlier round, however much is still said for it: another try at what was unclear
// would take the time of those who wait.
std::vector<RankedPitch> RoundPlayer::ranking() const {
  std::vector<RankedPitch> order = rank(
      round().ballots, rules_.rubric,
      credibilities_for(sharks_of(round().ballots), round().credibilities), log_.record.pitches);
  const auto waits = [&](const RankedPitch& one) {
    return std::pair(one.pilot_failed, had_match_before(one.pitch));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const RankedPitch& a, const RankedPitch& b) { return waits(a) < waits(b); });
  return order;
}

bool RoundPlayer::had_match_before(const std::string& pitch) const {
  const auto& rounds = log_.record.rounds;
  return std::any_of(rounds.begin(), rounds.find(number_),
                     [&](const auto& one) { return one.second.match_of(pitch) != nullptr; });
}

// The winner, and while nothing is accepted its runners-up: so many at once as there are jobs. All
// of them meet the champion that the round began with, and the first of them in the order of the
// vote that is accepted takes the title, whoever was ready first and whoever gained most: the
// largest of several gains is also the luckiest.
void RoundPlayer::try_pitches() {
  std::vector<std::string> line;
  for (const RankedPitch& ranked : ranking()) {
    const PlayedMatch* played = round().match_of(ranked.pitch);
    if (played == nullptr || !played->control) line.push_back(ranked.pitch);
  }
  const std::size_t tries_max = static_cast<std::size_t>(std::max(rules_.tries_max, rules_.jobs));
  std::size_t tries = 0;
  for (const std::vector<std::string>& batch : batches_of(line, rules_.jobs)) {
    const bool may_build = tries < tries_max && (tries == 0 || tools_.seconds_now() < deadline_);
    if (!is_begun(batch) && !may_build) break;
    tries += batch.size();
    settle(batch, /*control=*/false);
    if (round().has_new_champion) break;
  }
}

// A panel that only sees what it chose never learns what it missed. Each draw depends on the
// season's seed, the round and the rank alone, so that anyone can repeat it. What failed in its
// pilot will fail again, before it comes to timing: that costs little, and puts it on record.
void RoundPlayer::build_controls() {
  const std::vector<RankedPitch> order = ranking();
  std::vector<std::string> drawn;
  for (std::size_t rank_index = 0; rank_index < order.size(); ++rank_index) {
    const PlayedMatch* played = round().match_of(order[rank_index].pitch);
    if (played != nullptr && !played->control) continue;
    constexpr std::uint64_t kTickets = 1000;
    const std::uint64_t stream = static_cast<std::uint64_t>(number_) << 32 | rank_index;
    const double ticket =
        static_cast<double>(Random(log_.record.seed, stream).below(kTickets)) / kTickets;
    if (ticket >= rules_.control_share && !order[rank_index].pilot_failed) continue;
    drawn.push_back(order[rank_index].pitch);
  }
  for (const std::vector<std::string>& batch : batches_of(drawn, rules_.jobs)) {
    if (!is_begun(batch) && tools_.seconds_now() >= deadline_) continue;
    settle(batch, /*control=*/true);
  }
}

// What was begun together is played to its end: its matches may be anywhere by now.
bool RoundPlayer::is_begun(const std::vector<std::string>& batch) const {
  return std::any_of(batch.begin(), batch.end(),
                     [&](const std::string& pitch) { return round().match_of(pitch) != nullptr; });
}

// Does what is still to be done about pitches that are built: match, verdict, and what follows. An
// earlier process may have come to any of these.
void RoundPlayer::settle(const std::vector<std::string>& batch, bool control) {
  std::vector<Stretch> stretches;
  for (const std::string& name : batch) {
    const Attempt attempt = attempt_of(name, control);
    if (const PlayedMatch* played = round().match_of(name)) {
      draw_consequences(attempt, *played);
    } else {
      stretches.push_back({number_, attempt, std::nullopt});
    }
  }
  play(stretches);
}

void RoundPlayer::play(const std::vector<Stretch>& stretches) {
  std::vector<MatchOrder> orders;
  std::vector<std::string> names;
  for (const Stretch& stretch : stretches) {
    number_ = stretch.round;
    names.push_back(stretch.attempt.pitch.name);
    orders.push_back(order_of(stretch));
  }
  if (orders.empty()) return;
  const bool goes_on = stretches.front().earlier.has_value();
  tools_.report(fmt::format("{} {}{}", stretches.front().attempt.control ? "control" : "match",
                            fmt::join(names, ", "), goes_on ? ", which goes on" : ""));
  play_matches(tools_, orders, [&](std::size_t index, const MatchReport& report) {
    const Stretch& stretch = stretches[index];
    number_ = stretch.round;
    append(stretch, orders[index].id, report);
    draw_consequences(stretch.attempt, *round().match_of(stretch.attempt.pitch.name));
  });
}

RoundPlayer::Attempt RoundPlayer::attempt_of(const std::string& name, bool control) const {
  const Pitch& pitch = log_.record.pitch(name);
  return {pitch, contestant_against(pitch, round().champion), control};
}

// Who has beaten a champion that is none any more has won a match and no title: it may enter the
// next round.
void RoundPlayer::draw_consequences(const Attempt& attempt, const PlayedMatch& match) {
  if (!match.verdict_entry) record_verdict(match);
  const bool wins_title = match.verdict.kind == VerdictKind::kAccepted && !attempt.control &&
                          match.champion_hash == log_.record.champion_hash;
  if (wins_title && !round().has_new_champion) crown(attempt, match);
  if (teaches(match.verdict)) learn(attempt, match);
}

// A stretch has no more time than the season has left.
MatchOptions RoundPlayer::match_options(const PlayedMatch* earlier) const {
  MatchOptions options = rules_.match;
  if (earlier != nullptr && earlier->samples.heats.empty()) {
    options.seconds_max *= kLongerWithoutHeats;
  }
  const double seconds_left = deadline_ - tools_.seconds_now();
  options.seconds_max =
      tenths(std::min(options.seconds_max, std::max(kStretchSecondsMin, seconds_left)));
  if (earlier == nullptr) return options;
  options.earlier = earlier->samples;
  options.analysis.heats_more = static_cast<int>(earlier->samples.heats.size());
  return options;
}

MatchOrder RoundPlayer::order_of(const Stretch& stretch) const {
  const PlayedMatch* earlier = stretch.earlier ? &*stretch.earlier : nullptr;
  const int stretch_number = earlier == nullptr ? 1 : earlier->stretch_count + 1;
  return {.id = match_id({.round = number_,
                          .pitch = stretch.attempt.pitch.name,
                          .stage = fmt::format("stretch {}", stretch_number),
                          .champion_hash = round().champion_hash,
                          .challenger_hash = tools_.hash(stretch.attempt.challenger)}),
          .match = {.champion = round().champion,
                    .challenger = stretch.attempt.challenger,
                    .suite = rules_.suite,
                    .terms = rules_.terms,
                    .options = match_options(earlier)},
          .machine_class = earlier == nullptr ? "" : earlier->machine_class};
}

// The entry has all heats, so that its verdict can be computed again from it alone.
void RoundPlayer::append(const Stretch& stretch, const std::string& id, const MatchReport& report) {
  const MatchRecord& played = report.record;
  Json data{{"id", id},
            {"round", number_},
            {"pitch", stretch.attempt.pitch.name},
            {"champion", round().champion.name},
            {"challenger", stretch.attempt.challenger.name},
            {"champion_hash", round().champion_hash},
            {"challenger_hash", played.challenger_hash},
            {"suite", rules_.suite.name},
            {"seed", played.seed},
            {"seconds", played.seconds},
            {"control", stretch.attempt.control},
            {"samples", played.samples},
            {"verdict", played.verdict},
            {"log", played.log}};
  if (!report.machine.is_null()) data["machine"] = report.machine;
  if (report.together > 1) data["together"] = report.together;
  if (stretch.earlier) {
    data["continues"] = stretch.earlier->entry;
    data["earlier_heats"] = played.earlier_heat_count;
  }
  log_.append("match", data);
}

// Heats of one match are heats of the same two programs on the same problems.
bool RoundPlayer::can_go_on(const Attempt& attempt, const PlayedMatch& match) {
  std::vector<std::string> problems;
  for (const Problem& problem : rules_.suite.problems) problems.push_back(problem.name);
  const bool same = tools_.hash(attempt.challenger) == match.challenger_hash &&
                    tools_.hash(round().champion) == match.champion_hash &&
                    (match.samples.heats.empty() || match.samples.problems == problems);
  if (!same && changed_.insert(match.pitch).second) {
    announce(tools_, fmt::format("{}: cannot go on, the program has changed since its heats were "
                                 "played; a new season starts it afresh",
                                 match.pitch));
  }
  return same;
}

bool RoundPlayer::play_overtime(double deadline) {
  return play_overtime(deadline, open_matches(log_.record, rules_.terms));
}

bool RoundPlayer::play_nearly_decided(double deadline) {
  std::vector<OpenMatch> open = open_matches(log_.record, rules_.terms);
  std::erase_if(open, [&](const OpenMatch& one) {
    return one.match->stretch_count > 1 || one.seconds_needed > rules_.match.seconds_max;
  });
  return play_overtime(deadline, open);
}

bool RoundPlayer::play_overtime(double deadline, const std::vector<OpenMatch>& open_matches) {
  deadline_ = deadline;
  if (tools_.seconds_now() >= deadline) return false;
  std::vector<Stretch> stretches;
  Json matches = Json::array();
  for (const OpenMatch& open : open_matches) {
    const Stretch stretch = stretch_of(open.round, open.match->pitch);
    if (!can_go_on(stretch.attempt, *open.match)) continue;
    stretches.push_back(stretch);
    matches.push_back({{"round", open.round}, {"pitch", open.match->pitch}});
    if (stretches.size() == static_cast<std::size_t>(rules_.jobs)) break;
  }
  // When the first of several takes the title, the others are open no longer: what was begun has to
  // be on record.
  if (stretches.size() > 1) log_.append("overtime", {{"matches", std::move(matches)}});
  play(stretches);
  return !stretches.empty();
}

// In overtime everybody plays for the title: there is no vote to have lost.
RoundPlayer::Stretch RoundPlayer::stretch_of(int round_number, const std::string& pitch) {
  number_ = round_number;
  return {number_, attempt_of(pitch, /*control=*/false), *round().match_of(pitch)};
}

void RoundPlayer::settle_overtime(double deadline) {
  deadline_ = deadline;
  std::map<std::int64_t, std::pair<int, std::string>> stretched;  // in the order they were played
  for (const auto& [number, round] : log_.record.rounds) {
    for (const PlayedMatch& match : round.matches) {
      if (match.stretch_count > 1) stretched[match.entry] = {number, match.pitch};
    }
  }
  for (const auto& [entry, place] : stretched) {
    const Stretch stretch = stretch_of(place.first, place.second);
    draw_consequences(stretch.attempt, *stretch.earlier);
  }
  std::vector<Stretch> begun;
  for (const auto& [number, pitch] : log_.record.overtime)
    begun.push_back(stretch_of(number, pitch));
  play(begun);
}

void RoundPlayer::record_verdict(const PlayedMatch& match) {
  const Verdict& verdict = match.verdict;
  announce(tools_, fmt::format("{}: {}: {}", match.pitch, to_string(verdict.kind), verdict.reason));
  log_.append("verdict", {{"round", number_},
                          {"pitch", match.pitch},
                          {"kind", to_string(verdict.kind)},
                          {"check", verdict.check},
                          {"reason", verdict.reason},
                          {"speedup", verdict.estimate ? Json(verdict.estimate->speedup) : Json()},
                          {"control", match.control},
                          {"match", match.entry}});
}

// By the hash it won with, whatever its file has become since.
void RoundPlayer::crown(const Attempt& attempt, const PlayedMatch& match) {
  log_.append("champion", {{"round", number_},
                           {"pitch", attempt.pitch.name},
                           {"champion", attempt.challenger.name},
                           {"champion_hash", match.challenger_hash},
                           {"knobs", resolved_knobs(attempt.challenger)},
                           {"previous", round().champion.name}});
}

// The champion stays; that the idea lost against it is remembered.
void RoundPlayer::learn(const Attempt& attempt, const PlayedMatch& match) {
  const std::optional<Constraint> lesson =
      lesson_of(attempt.pitch, {.season = rules_.season,
                                .round = number_,
                                .suite = rules_.suite.name,
                                .champion_hash = match.champion_hash,
                                .reason = match.verdict.reason,
                                .verdict_entry = *match.verdict_entry});
  if (!lesson || has_learned(lesson->id)) return;
  log_.append("constraint", constraint_entry(*lesson));
}

// In whichever round: what overtime teaches is written while a later one is the last.
bool RoundPlayer::has_learned(const std::string& lesson) const {
  const auto& rounds = log_.record.rounds;
  return std::any_of(rounds.begin(), rounds.end(),
                     [&](const auto& one) { return one.second.lessons.contains(lesson); });
}

void RoundPlayer::finish() {
  Json order = Json::array();
  for (const RankedPitch& ranked : ranking()) {
    order.push_back({{"pitch", ranked.pitch}, {"score", ranked.score}});
  }
  const std::string winner = order.front().at("pitch");
  const PlayedMatch* match = round().match_of(winner);
  Json controls = Json::array();
  for (const PlayedMatch& played : round().matches) {
    if (played.control) controls.push_back(played.pitch);
  }
  log_.append("round", {{"round", number_},
                        {"ranking", std::move(order)},
                        {"winner", winner},
                        {"outcome", round().has_new_champion ? to_string(VerdictKind::kAccepted)
                                                             : to_string(match->verdict.kind)},
                        {"controls", std::move(controls)}});
}

}  // namespace thresher
