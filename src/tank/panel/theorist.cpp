// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/shark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "tank/machine_model.hpp"

namespace thresher {
namespace {

// What a pitch can address, and the words that give it away.
enum class Bottleneck : std::uint8_t { kStores, kLaunches, kBalance, kPadding, kMemory, kAnything };

struct Clue {
  std::string_view word;
  Bottleneck bottleneck;
};
// The particular before the general: an epilogue is stores although it is memory too.
constexpr std::array<Clue, 22> kClues = {
    {{"launch", Bottleneck::kLaunches},  {"epilogue", Bottleneck::kStores},
     {"store", Bottleneck::kStores},     {"write", Bottleneck::kStores},
     {"decod", Bottleneck::kPadding},    {"balance", Bottleneck::kBalance},
     {"idle", Bottleneck::kBalance},     {"wait", Bottleneck::kBalance},
     {"barrier", Bottleneck::kBalance},  {"quanti", Bottleneck::kBalance},
     {"schedule", Bottleneck::kBalance}, {"stream", Bottleneck::kBalance},
     {"parallel", Bottleneck::kBalance}, {"padding", Bottleneck::kPadding},
     {"waste", Bottleneck::kPadding},    {"tile", Bottleneck::kPadding},
     {"bandwidth", Bottleneck::kMemory}, {"memory", Bottleneck::kMemory},
     {"latency", Bottleneck::kMemory},   {"cache", Bottleneck::kMemory},
     {"prefetch", Bottleneck::kMemory},  {"stages", Bottleneck::kMemory}}};

constexpr std::array<const char*, 6> kNames = {"stores",
                                               "launches",
                                               "idle threads or SMs",
                                               "padding and decoding",
                                               "memory",
                                               "everything above the speed of light"};

Bottleneck bottleneck_of(const Pitch& pitch) {
  for (const std::string& text : {pitch.bottleneck, pitch.family}) {
    for (const Clue& clue : kClues) {
      if (text.find(clue.word) != std::string::npos) return clue.bottleneck;
    }
  }
  return Bottleneck::kAnything;
}

// A model is a sketch: below this a predicted difference is none.
constexpr double kResolution = 0.005;
// Where the model sees no difference, the mechanism is outside it and a claim gets this much
// credit.
constexpr double kCreditOutsideModel = 0.25;
constexpr double kShareMax = 0.99;

class Theorist {
 public:
  explicit Theorist(TheoristEvidence evidence) : evidence_(std::move(evidence)) {}

  Ballot judge(const Pitch& pitch) const {
    return make_ballot("Theorist", pitch, belief_on(pitch), evidence_.terms);
  }

 private:
  // Geomeans over the suite.
  struct Prediction {
    double share = 0;                 // of the champion's time that the bottleneck has
    double log_cap = 0;               // Amdahl: more than this the share cannot give
    std::optional<double> log_model;  // where both are variants
  };

  Belief belief_on(const Pitch& pitch) const {
    const Bottleneck bottleneck = bottleneck_of(pitch);
    const Prediction prediction = predict(pitch, bottleneck);
    const double log_claim = std::log(pitch.claim.value);
    const bool is_capped = log_claim > prediction.log_cap + kResolution;
    const double log_possible = std::min(log_claim, prediction.log_cap);
    const bool model_sees_it =
        prediction.log_model && std::abs(*prediction.log_model) > kResolution;
    Belief belief;
    belief.p_right = pitch.contestant.kind == ContestantKind::kVariant ? 0.95 : 0.7;
    belief.log_speedup = model_sees_it ? std::min(*prediction.log_model, prediction.log_cap)
                                       : kCreditOutsideModel * log_possible;
    belief.log_speedup_sd = 0.03 + 0.5 * std::abs(belief.log_speedup);
    belief.evidence = is_capped ? 1 : model_sees_it && *prediction.log_model > 0 ? 8 : 4;
    belief.reason = fmt::format(
        "{} take {:.0f} % of the champion's {} time, which allows {:.2f}x at most{}; the model {}.",
        kNames[static_cast<std::size_t>(bottleneck)], 100 * prediction.share,
        evidence_.champion_us.empty() ? "modelled" : "measured", std::exp(prediction.log_cap),
        is_capped ? fmt::format(" and caps the claim of {:.2f}x", pitch.claim.value) : "",
        model_sees_it ? fmt::format("gives {:.2f}x", std::exp(*prediction.log_model))
                      : "sees no change in work, balance, bytes or launches");
    return belief;
  }

  Prediction predict(const Pitch& pitch, Bottleneck bottleneck) const {
    Prediction mean{.log_model = 0.0};
    const double part = 1 / static_cast<double>(evidence_.suite.problems.size());
    for (const Problem& problem : evidence_.suite.problems) {
      const Prediction one = predict(pitch, bottleneck, problem);
      mean.share += part * one.share;
      mean.log_cap += part * one.log_cap;
      if (!one.log_model) mean.log_model.reset();
      if (mean.log_model) *mean.log_model += part * *one.log_model;
    }
    return mean;
  }

  Prediction predict(const Pitch& pitch, Bottleneck bottleneck, const Problem& problem) const {
    const double floor_us = speed_of_light(problem, evidence_.machine.rates).floor_us();
    const std::optional<ModelledRun> champion = model(evidence_.champion, problem);
    const std::optional<ModelledRun> challenger = model(pitch.contestant, problem);
    const double us = champion_us(problem, champion, floor_us);
    Prediction prediction;
    prediction.share = std::clamp(share_of(bottleneck, champion, us, floor_us), 0.0, kShareMax);
    // Neither the bottleneck's share nor the machine can be beaten.
    prediction.log_cap =
        std::min(-std::log1p(-prediction.share), std::max(0.0, std::log(us / floor_us)));
    if (champion && challenger) prediction.log_model = std::log(champion->us / challenger->us);
    return prediction;
  }

  double share_of(Bottleneck bottleneck, const std::optional<ModelledRun>& champion, double us,
                  double floor_us) const {
    const double above_light = 1 - floor_us / us;
    if (!champion) return above_light;
    const double us_per_byte = 1e-3 / evidence_.machine.rates.read_gb_per_s;
    switch (bottleneck) {
      case Bottleneck::kStores:
        return champion->store_bytes * us_per_byte / us;
      case Bottleneck::kLaunches:
        return champion->launch_us / us;
      case Bottleneck::kBalance:
        return 1 - champion->balance;
      case Bottleneck::kPadding:
        return 1 - 1 / champion->work;
      case Bottleneck::kMemory:
        return champion->bytes * us_per_byte / us;
      case Bottleneck::kAnything:
        break;
    }
    return above_light;
  }

  double champion_us(const Problem& problem, const std::optional<ModelledRun>& champion,
                     double floor_us) const {
    const auto measured = evidence_.champion_us.find(problem.name);
    if (measured != evidence_.champion_us.end()) return std::max(measured->second, floor_us);
    return champion ? std::max(champion->us, floor_us) : floor_us;
  }

  // Nothing for external code and for what cannot run here: that is for other sharks to say.
  std::optional<ModelledRun> model(const Contestant& contestant, const Problem& problem) const {
    if (contestant.kind != ContestantKind::kVariant || contestant.variant.empty()) return {};
    return modelled_run(problem, contestant.variant, evidence_.machine);
  }

  TheoristEvidence evidence_;
};

}  // namespace

Shark theorist(TheoristEvidence evidence) {
  return {"Theorist",
          [mind = Theorist(std::move(evidence))](const Pitch& pitch) { return mind.judge(pitch); }};
}

}  // namespace thresher
