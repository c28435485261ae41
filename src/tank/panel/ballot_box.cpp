// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/ballot_box.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "assert.hpp"
#include "digest/sha256.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

RankedPitch ranked(const std::string& pitch, const std::vector<Ballot>& ballots,
                   const Rubric& rubric, const Credibilities& credibilities) {
  double weight_sum = 0;
  double sum = 0;
  double squares = 0;
  bool pilot_failed = false;
  for (const Ballot& ballot : ballots) {
    if (ballot.pitch != pitch) continue;
    pilot_failed = pilot_failed || ballot.pilot_failed;
    const double weight = credibilities.at(ballot.shark);
    const double score = weighted_score(ballot, rubric);
    weight_sum += weight;
    sum += weight * score;
    squares += weight * score * score;
  }
  const double mean = sum / weight_sum;
  return {pitch, mean, std::sqrt(std::max(0.0, squares / weight_sum - mean * mean)), pilot_failed};
}

std::string pitches_of(const std::vector<MatchOrder>& orders) {
  std::vector<std::string> names;
  for (const MatchOrder& order : orders) names.push_back(order.match.challenger.name);
  return fmt::to_string(fmt::join(names, ", "));
}

const Pitch& find(const std::vector<Pitch>& pitches, const std::string& name) {
  const auto found = std::find_if(pitches.begin(), pitches.end(),
                                  [&](const Pitch& pitch) { return pitch.name == name; });
  THRESHER_ASSERT(found != pitches.end());
  return *found;
}

}  // namespace

BallotBox::BallotBox(SeasonLog& log, const SeasonRules& rules, const SeasonTools& tools,
                     std::vector<Ballot> votes)
    : log_(log), rules_(rules), tools_(tools), votes_(std::move(votes)) {}

std::vector<Shark> BallotBox::panel() {
  const SeasonRecord& record = log_.record;
  const Machine machine = machine_of(record, rules_);
  return {
      theorist({.suite = rules_.suite,
                .machine = machine,
                .champion = record.champion,
                .champion_us = record.champion_us,
                .terms = rules_.terms}),
      skeptic(past_claims(log_.ledger), rules_.terms),
      pragmatist({.suite = rules_.suite,
                  .machine = machine,
                  .champion = record.champion,
                  .terms = rules_.terms}),
      oracle([this](const Contestant& contestant) { return pilot_of(contestant); }, rules_.terms)};
}

std::optional<Verdict> BallotBox::pilot_of(const Contestant& contestant) const {
  const std::string pair = log_.record.champion_hash + tools_.hash(contestant);
  const auto known = pilots_.find(pair);
  return known == pilots_.end() ? std::nullopt : std::optional(known->second);
}

// Before the Oracle is asked, as many at once as there are jobs.
void BallotBox::play_pilots(int round, const std::vector<Pitch>& candidates) {
  std::vector<MatchOrder> orders;
  std::vector<std::string> pairs;
  for (const Pitch& pitch : candidates) {
    const std::string hash = tools_.hash(pitch.contestant);
    const std::string pair = log_.record.champion_hash + hash;
    if (pilots_.contains(pair) || has_ballot(round, kOracle, pitch.name)) continue;
    if (std::find(pairs.begin(), pairs.end(), pair) != pairs.end()) continue;
    pairs.push_back(pair);
    orders.push_back({.id = match_id({.round = round,
                                      .pitch = pitch.name,
                                      .stage = "pilot",
                                      .champion_hash = log_.record.champion_hash,
                                      .challenger_hash = hash}),
                      .match = {.champion = log_.record.champion,
                                .challenger = pitch.contestant,
                                .suite = rules_.suite,
                                .terms = rules_.terms,
                                .options = rules_.pilot}});
  }
  const std::size_t step = static_cast<std::size_t>(rules_.jobs);
  for (std::size_t begin = 0; begin < orders.size(); begin += step) {
    if (pilot_seconds_ >= rules_.pilot_seconds_max) return;
    const std::size_t end = std::min(begin + step, orders.size());
    const std::vector<MatchOrder> batch(orders.begin() + static_cast<std::ptrdiff_t>(begin),
                                        orders.begin() + static_cast<std::ptrdiff_t>(end));
    tools_.report(fmt::format("{} tries {}", kOracle, pitches_of(batch)));
    play_matches(tools_, batch, [&](std::size_t index, const MatchReport& report) {
      pilot_seconds_ += report.record.seconds / report.together;
      pilots_.emplace(pairs[begin + index], report.record.verdict);
    });
  }
}

void BallotBox::collect(int round, const std::vector<Pitch>& candidates) {
  for (const Shark& shark : panel()) {
    if (shark.name == kOracle) play_pilots(round, candidates);
    collect_from(shark, round, candidates);
  }
  for (const Ballot& vote : votes_) {
    const bool is_candidate =
        std::any_of(candidates.begin(), candidates.end(),
                    [&](const Pitch& pitch) { return pitch.name == vote.pitch; });
    if (is_candidate && !has_ballot(round, vote.shark, vote.pitch)) append(round, vote);
  }
}

// The pick is recorded first: whoever finds ballots of a shark in the ledger knows that it has
// voted.
void BallotBox::collect_from(const Shark& shark, int round, const std::vector<Pitch>& candidates) {
  std::vector<Ballot> ballots;
  for (const Pitch& pitch : candidates) {
    if (has_ballot(round, shark.name, pitch.name)) continue;
    tools_.report(fmt::format("{} on {}", shark.name, pitch.name));
    ballots.push_back(shark.judge(pitch));
  }
  if (ballots.size() == candidates.size()) cast_vote(ballots, rules_.rubric);
  std::stable_partition(ballots.begin(), ballots.end(), [](const Ballot& one) { return one.vote; });
  for (Ballot& ballot : ballots) append(round, std::move(ballot));
}

void BallotBox::append(int round, Ballot ballot) {
  // Sharks answer on every dimension there is; only the rubric's count, and only they are kept.
  std::erase_if(ballot.scores,
                [&](const auto& score) { return !rules_.rubric.weights.contains(score.first); });
  nlohmann::json data = ballot;
  data["round"] = round;
  data["score"] = weighted_score(ballot, rules_.rubric);
  log_.append("ballot", data);
}

bool BallotBox::has_ballot(int round, const std::string& shark, const std::string& pitch) const {
  const auto found = log_.record.rounds.find(round);
  if (found == log_.record.rounds.end()) return false;
  const std::vector<Ballot>& ballots = found->second.ballots;
  return std::any_of(ballots.begin(), ballots.end(),
                     [&](const Ballot& one) { return one.shark == shark && one.pitch == pitch; });
}

void BallotBox::seal(int round) {
  const RoundRecord& record = log_.record.rounds.at(round);
  const std::string hash = sha256_hex(record.sealed_text.dump());
  if (record.seal.empty()) {
    log_.append("seal",
                {{"round", round}, {"hash", hash}, {"ballot_count", record.ballots.size()}});
  } else if (record.seal != hash) {
    throw Error(fmt::format("season {}, round {}: the ballots are not those that were sealed",
                            log_.season, round));
  }
}

std::vector<RankedPitch> rank(const std::vector<Ballot>& ballots, const Rubric& rubric,
                              const Credibilities& credibilities,
                              const std::vector<Pitch>& pitches) {
  std::vector<RankedPitch> order;
  for (const Pitch& pitch : pitches) {
    const bool has_ballot = std::any_of(ballots.begin(), ballots.end(), [&](const Ballot& ballot) {
      return ballot.pitch == pitch.name;
    });
    if (has_ballot) order.push_back(ranked(pitch.name, ballots, rubric, credibilities));
  }
  // Rounding to steps of a tie, not comparing differences: the order has to be transitive.
  const auto key = [&](const RankedPitch& one) {
    const Pitch& pitch = find(pitches, one.pitch);
    return std::tuple(one.pilot_failed, -std::llround(one.score / (2 * kTie)), pitch.risk,
                      pitch.complexity, std::llround(one.disagreement / (2 * kTie)), one.pitch);
  };
  std::sort(order.begin(), order.end(),
            [&](const RankedPitch& a, const RankedPitch& b) { return key(a) < key(b); });
  return order;
}

}  // namespace thresher
