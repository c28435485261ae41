// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/shark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/backends.hpp"

namespace thresher {
namespace {

// What each part of a claim loses on the way into a product.
constexpr double kCreditMax = 0.4;
constexpr double kCreditLostPerLevel = 0.1;

double level(Level value) { return static_cast<double>(value); }  // low 0, medium 1, high 2

int knobs_changed(const std::string& variant, const std::string& champion) {
  const KnobValues before = backend_of_variant(champion).knobs_of(champion);
  int changed = 0;
  for (const auto& [knob, value] : backend_of_variant(variant).knobs_of(variant)) {
    const auto found = before.find(knob);
    changed += int{found == before.end() || found->second != value};
  }
  return changed;
}

// The lowest speedup the pitch itself allows for on any problem.
double worst_claimed(const Pitch& pitch) {
  double worst = pitch.claim.low;
  for (const auto& [problem, claim] : pitch.claim_by_problem) worst = std::min(worst, claim.low);
  return worst;
}

class Pragmatist {
 public:
  explicit Pragmatist(PragmatistEvidence evidence) : evidence_(std::move(evidence)) {}

  Ballot judge(const Pitch& pitch) const {
    return make_ballot("Pragmatist", pitch, belief_on(pitch), evidence_.terms);
  }

 private:
  Belief belief_on(const Pitch& pitch) const {
    const double worst = worst_claimed(pitch);
    const double credit =
        kCreditMax - kCreditLostPerLevel * (level(pitch.risk) + level(pitch.complexity)) / 2;
    Belief belief;
    belief.p_right = 0.97 - 0.08 * level(pitch.risk) - 0.04 * level(pitch.complexity);
    belief.log_speedup = credit * std::log(pitch.claim.value);
    belief.log_speedup_sd = 0.03 + 0.03 * level(pitch.risk) + 0.25 * std::abs(belief.log_speedup);
    belief.evidence = pitch.rollback.empty() ? 3 : 6;
    const std::string terms = worst < 1 / (1 + evidence_.terms.regression_max)
                                  ? fmt::format(", and it allows for {:.2f}x somewhere", worst)
                                  : "";
    if (!terms.empty()) belief.p_right *= 0.7;
    const std::string costs = weigh_contestant(pitch.contestant, belief);
    belief.reason = fmt::format("{}; risk {}, complexity {}{}.", costs, to_string(pitch.risk),
                                to_string(pitch.complexity), terms);
    return belief;
  }

  // Says what it costs, and lowers the belief by it.
  std::string weigh_contestant(const Contestant& contestant, Belief& belief) const {
    if (contestant.kind != ContestantKind::kVariant || contestant.variant.empty()) {
      belief.p_right *= 0.6;
      belief.evidence -= 2;
      return fmt::format("foreign code ({}) has to be built, trusted and kept",
                         to_string(contestant.kind));
    }
    const std::string& variant = contestant.variant;
    const std::string why_not = first_refusal(variant, evidence_.suite, evidence_.machine);
    if (!why_not.empty()) {
      belief.p_right = 0;
      return fmt::format("it cannot run the suite: {}", why_not);
    }
    const double mb = workspace_mb(variant);
    if (!champion_is_variant()) {
      return fmt::format("a whole variant with {:.1f} MB of scratch memory", mb);
    }
    const std::string& champion = evidence_.champion.variant;
    const int turned = knobs_changed(variant, champion);
    const double champion_mb = workspace_mb(champion);
    belief.p_right -= 0.02 * std::max(0, turned - 1);
    if (mb > 2 * champion_mb) belief.log_speedup_sd += 0.02;
    belief.evidence += turned <= 1 ? 2 : 0;  // a test of one thing at a time says more
    return fmt::format(
        "{} knob{} turned, {:.1f} MB of scratch memory where the champion has {:.1f}", turned,
        turned == 1 ? "" : "s", mb, champion_mb);
  }

  bool champion_is_variant() const {
    return evidence_.champion.kind == ContestantKind::kVariant &&
           !evidence_.champion.variant.empty();
  }

  // Of the problem that needs most.
  double workspace_mb(const std::string& variant) const {
    std::size_t bytes_max = 0;
    for (const Problem& problem : evidence_.suite.problems) {
      const Backend& backend = backend_of_variant(variant);
      if (!backend.supports(problem, variant, evidence_.machine).ok) continue;
      bytes_max = std::max(bytes_max, backend.workspace_bytes(problem, variant, evidence_.machine));
    }
    return static_cast<double>(bytes_max) / 1e6;
  }

  PragmatistEvidence evidence_;
};

}  // namespace

std::string first_refusal(const std::string& variant, const Suite& suite, const Machine& machine) {
  for (const Problem& problem : suite.problems) {
    const Support support = backend_of_variant(variant).supports(problem, variant, machine);
    if (!support.ok) return fmt::format("problem '{}': {}", problem.name, support.why_not);
  }
  return {};
}

Shark pragmatist(PragmatistEvidence evidence) {
  return {"Pragmatist", [mind = Pragmatist(std::move(evidence))](const Pitch& pitch) {
            return mind.judge(pitch);
          }};
}

}  // namespace thresher
