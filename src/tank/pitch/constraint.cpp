// SPDX-License-Identifier: Apache-2.0
// Who is vetoed, by what, and for how long; and constraints that a tournament learns: out of a lost
// match, into the ledger, and back. tank/pitch/constraint_parser.cpp reads constraint files.
#include "tank/pitch/constraint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/backends.hpp"
#include "tank/pitch/knob_condition.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kKindWords = {"hardware", "rule", "regression"};
constexpr std::array<std::string_view, 3> kSides = {"_rows", "_columns", "_depth"};

using Json = nlohmann::json;
using Knobs = std::map<std::string, std::string>;

// tile = 64x128 also as tile_rows = 64 and tile_columns = 128.
void add_sides(const std::string& knob, std::string_view value, Knobs& knobs) {
  if (value.find('x') == std::string_view::npos) return;
  for (const std::string_view side : kSides) {
    const std::size_t cross = value.find('x');
    knobs.emplace(knob + std::string(side), value.substr(0, cross));
    if (cross == std::string_view::npos) return;
    value.remove_prefix(cross + 1);
  }
}

Knobs with_sides(const Knobs& knobs) {
  Knobs all = knobs;
  for (const auto& [knob, value] : knobs) add_sides(knob, value, all);
  return all;
}

// What would run, as far as it is known: all knobs of a variant, or those that the pitch turns when
// nobody has laid them over a champion yet.
Knobs running_knobs(const Pitch& pitch) {
  const Backend* backend = find_backend(pitch.backend);
  const bool is_known = !pitch.contestant.variant.empty() && backend != nullptr;
  return is_known ? backend->knobs_of(pitch.contestant.variant) : pitch.knobs;
}

// What the pitch itself turns. A pitch that names a whole variant turns everything.
Knobs own_knobs(const Pitch& pitch) {
  return pitch.knobs.empty() ? running_knobs(pitch) : pitch.knobs;
}

// What lost is these knobs together and no others: with one more it is another idea.
bool is_another_idea(const Constraint& lesson, const Knobs& own) {
  return std::any_of(own.begin(), own.end(),
                     [&](const auto& knob) { return !lesson.knobs.contains(knob.first); });
}

bool knobs_meet(const Constraint& constraint, const Pitch& pitch) {
  if (constraint.knobs.empty()) return true;
  Knobs own = own_knobs(pitch);
  const bool is_lesson = constraint.kind == ConstraintKind::kRegression;
  if (is_lesson && is_another_idea(constraint, own)) return false;
  own = with_sides(own);
  const Knobs running = with_sides(running_knobs(pitch));
  bool turns_one = false;
  for (const auto& [knob, condition] : constraint.knobs) {
    const auto found = running.find(knob);
    if (found == running.end() || !holds(condition, found->second)) return false;
    turns_one = turns_one || own.contains(knob);
  }
  return turns_one;
}

bool meets(const Constraint& constraint, const Pitch& pitch) {
  const auto agrees = [](const std::string& asked, const std::string& has) {
    return asked.empty() || asked == has;
  };
  return agrees(constraint.backend, pitch.backend) && agrees(constraint.family, pitch.family) &&
         knobs_meet(constraint, pitch);
}

// "family triton, stages = 16": what about the pitch met the predicate.
std::string what_met(const Constraint& constraint, const Pitch& pitch) {
  std::vector<std::string> parts;
  if (!constraint.backend.empty()) parts.push_back("backend " + pitch.backend);
  if (!constraint.family.empty()) parts.push_back("family " + pitch.family);
  const Knobs running = with_sides(running_knobs(pitch));
  for (const auto& [knob, condition] : constraint.knobs) {
    parts.push_back(fmt::format("{} = {}", knob, running.at(knob)));
  }
  return fmt::to_string(fmt::join(parts, ", "));
}

std::string needed_text(const Json& data, const char* name) {
  const Json& value = field(data, name);
  if (!value.is_string()) throw Error(fmt::format("{}: no text", name));
  return value.get<std::string>();
}

ConstraintKind kind_from(const std::string& word) {
  for (const ConstraintKind kind :
       {ConstraintKind::kHardware, ConstraintKind::kRule, ConstraintKind::kRegression}) {
    if (word == to_string(kind)) return kind;
  }
  throw Error(fmt::format("kind: {:?} is none of hardware, rule, regression", word));
}

void read_predicate(const Json& data, Constraint& constraint) {
  const Json& predicate = field(data, "predicate");
  if (!predicate.is_object()) throw Error("predicate: no object");
  constraint.backend = needed_text(predicate, "backend");
  constraint.family = needed_text(predicate, "family");
  const Json& knobs = field(predicate, "knobs");
  if (!knobs.is_object()) throw Error("predicate.knobs: no object");
  for (const auto& [knob, value] : knobs.items()) {
    const std::string condition = needed_text(knobs, knob.c_str());
    const std::string fault = fault_of_condition(condition);
    if (!fault.empty()) throw Error(fmt::format("predicate.knobs.{}: {}", knob, fault));
    constraint.knobs.emplace(knob, condition);
  }
}

}  // namespace

std::string_view to_string(ConstraintKind kind) {
  return kKindWords[static_cast<std::size_t>(kind)];
}

std::optional<Veto> find_veto(const Pitch& pitch, const std::vector<Constraint>& constraints,
                              const ConstraintContext& context) {
  for (const Constraint& constraint : constraints) {
    if (!is_active(constraint, context) || !meets(constraint, pitch)) continue;
    const bool is_learned = constraint.kind == ConstraintKind::kRegression;
    if (is_learned && !pitch.new_evidence.empty()) continue;
    return Veto{constraint.id,
                fmt::format("{} (this pitch: {}; source: {}){}", constraint.claim,
                            what_met(constraint, pitch), constraint.origin,
                            is_learned ? "; new_evidence in the pitch would reopen it" : "")};
  }
  return std::nullopt;
}

std::vector<const Constraint*> refutations_of(const Constraint& constraint,
                                              const std::vector<Constraint>& constraints) {
  std::vector<const Constraint*> found;
  for (const Constraint& one : constraints) {
    if (!one.refutes.empty() && one.refutes == constraint.id) found.push_back(&one);
  }
  return found;
}

std::string why_inactive(const Constraint& constraint, const ConstraintContext& context) {
  if (constraint.reported) return "reported, not measured here: it binds nobody";
  const std::string& scope = constraint.scope;
  if (!scope.empty() && scope != context.suite && scope != context.device &&
      scope != context.season) {
    return fmt::format("speaks of {} only", scope);
  }
  if (constraint.expires == kExpiresWithChampion &&
      constraint.champion_hash != context.champion_hash) {
    return "reopened: the champion has changed since";
  }
  if (constraint.expires == kExpiresWithSeason && constraint.season != context.season) {
    return fmt::format("ended with season {}", constraint.season);
  }
  return {};
}

bool is_active(const Constraint& constraint, const ConstraintContext& context) {
  return why_inactive(constraint, context).empty();
}

std::string describe_predicate(const Constraint& constraint) {
  std::vector<std::string> parts;
  if (!constraint.backend.empty()) parts.push_back("backend " + constraint.backend);
  if (!constraint.family.empty()) parts.push_back("family " + constraint.family);
  for (const auto& [knob, condition] : constraint.knobs) {
    parts.push_back(fmt::format("{} {}", knob, condition));
  }
  return fmt::to_string(fmt::join(parts, ", "));
}

std::optional<Constraint> lesson_of(const Pitch& pitch, const Loss& loss) {
  Constraint lesson{
      .id = fmt::format("{}_round{}_{}", loss.season, loss.round, pitch.name),
      .kind = ConstraintKind::kRegression,
      .claim = fmt::format("{} lost in round {}: {}.", pitch.name, loss.round, loss.reason),
      .backend = pitch.backend,
      .origin = fmt::format("ledger entry {}, season {}", loss.verdict_entry, loss.season),
      .scope = loss.suite,
      .expires = std::string(kExpiresWithChampion),
      .champion_hash = loss.champion_hash,
      .season = loss.season};
  for (const auto& [knob, value] : own_knobs(pitch)) lesson.knobs.emplace(knob, "= " + value);
  if (lesson.knobs.empty()) return std::nullopt;
  return lesson;
}

nlohmann::json constraint_entry(const Constraint& constraint) {
  return {{"id", constraint.id},
          {"claim", constraint.claim},
          {"kind", to_string(constraint.kind)},
          {"predicate",
           {{"backend", constraint.backend},
            {"family", constraint.family},
            {"knobs", constraint.knobs}}},
          {"origin", constraint.origin},
          {"scope", constraint.scope},
          {"expires", constraint.expires},
          {"champion_hash", constraint.champion_hash}};
}

Constraint constraint_from_entry(const LedgerEntry& entry) {
  try {
    Constraint constraint{.id = needed_text(entry.data, "id"),
                          .kind = kind_from(needed_text(entry.data, "kind")),
                          .claim = needed_text(entry.data, "claim"),
                          .origin = needed_text(entry.data, "origin"),
                          .scope = needed_text(entry.data, "scope"),
                          .expires = needed_text(entry.data, "expires"),
                          .champion_hash = needed_text(entry.data, "champion_hash"),
                          .season = entry.season,
                          .reported = entry.source == "reported"};
    read_predicate(entry.data, constraint);
    return constraint;
  } catch (const Error& error) {
    throw Error(fmt::format("ledger entry {}: constraint: {}", entry.id, error.what()));
  }
}

std::vector<Constraint> learned_constraints(const Ledger& ledger) {
  std::vector<Constraint> constraints;
  for (const LedgerEntry& entry : ledger.entries({}, "constraint")) {
    constraints.push_back(constraint_from_entry(entry));
  }
  return constraints;
}

}  // namespace thresher
