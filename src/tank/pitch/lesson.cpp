// SPDX-License-Identifier: Apache-2.0
// Constraints that a tournament learns: out of a lost match, into the ledger, and back.
#include <fmt/format.h>

#include "tank/any_variant.hpp"
#include "tank/pitch/constraint.hpp"
#include "tank/pitch/knob_condition.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

std::string text_field(const Json& data, const char* name) {
  const auto found = data.find(name);
  if (found == data.end() || !found->is_string()) throw Error(fmt::format("{}: no text", name));
  return found->get<std::string>();
}

ConstraintKind kind_from(const std::string& word) {
  for (const ConstraintKind kind :
       {ConstraintKind::kHardware, ConstraintKind::kRule, ConstraintKind::kRegression}) {
    if (word == to_string(kind)) return kind;
  }
  throw Error(fmt::format("kind: {:?} is none of hardware, rule, regression", word));
}

void read_predicate(const Json& data, Constraint& constraint) {
  const auto predicate = data.find("predicate");
  if (predicate == data.end() || !predicate->is_object()) throw Error("predicate: no object");
  constraint.backend = text_field(*predicate, "backend");
  constraint.family = text_field(*predicate, "family");
  const auto knobs = predicate->find("knobs");
  if (knobs == predicate->end() || !knobs->is_object()) throw Error("predicate.knobs: no object");
  for (const auto& [knob, condition] : knobs->items()) {
    constraint.knobs.emplace(knob, text_field(*knobs, knob.c_str()));
    const std::string fault = fault_of_condition(constraint.knobs.at(knob));
    if (!fault.empty()) throw Error(fmt::format("predicate.knobs.{}: {}", knob, fault));
  }
}

// The knobs that tell the pitch from others: those it turns, or all of the variant that it names.
std::map<std::string, std::string> telling_knobs(const Pitch& pitch) {
  const bool names_variant = pitch.knobs.empty() && !pitch.contestant.variant.empty();
  if (!names_variant || !engine_of(pitch.backend)) return pitch.knobs;
  return variant_knobs(pitch.contestant.variant);
}

}  // namespace

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
  for (const auto& [knob, value] : telling_knobs(pitch)) lesson.knobs.emplace(knob, "= " + value);
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
    Constraint constraint{.id = text_field(entry.data, "id"),
                          .kind = kind_from(text_field(entry.data, "kind")),
                          .claim = text_field(entry.data, "claim"),
                          .origin = text_field(entry.data, "origin"),
                          .scope = text_field(entry.data, "scope"),
                          .expires = text_field(entry.data, "expires"),
                          .champion_hash = text_field(entry.data, "champion_hash"),
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
