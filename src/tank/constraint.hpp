// SPDX-License-Identifier: Apache-2.0
// Constraints veto pitches: machine-checkable predicates with a source, a scope and an expiry.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tank/ledger.hpp"
#include "tank/pitch.hpp"

namespace thresher {

enum class ConstraintKind : std::uint8_t {
  kHardware,    // a fact of the machine
  kRule,        // a rule of the season
  kRegression,  // learned: this idea lost against this champion
};

std::string_view to_string(ConstraintKind kind);  // "hardware", "rule", "regression"

struct Constraint {
  std::string id;
  ConstraintKind kind = ConstraintKind::kRule;
  std::string claim;                 // one sentence
  // All present parts must hold for a veto: the pitch's backend, family, and knob conditions such as
  // {"stages", ">1"}, {"tile", "=64x128"}. Operators: = != < <= > >=.
  std::string backend;
  std::string family;
  std::map<std::string, std::string> knobs;
  std::string origin;                // where it comes from: a document, a probe, a ledger entry
  std::string scope;                 // device or suite it speaks of, empty: any
  std::string expires;               // "never", "champion changes", "season ends"
  std::string champion_hash;         // learned ones: the champion they were learned against
};

// Where a round stands: what a constraint's scope and expiry are compared with.
struct ConstraintContext {
  std::string suite;
  std::string season;
  std::string champion_hash;
};

// The first constraint that vetoes `pitch`, with a sentence; none: it may enter. A learned constraint
// yields to a pitch that brings `new_evidence`.
struct Veto {
  std::string constraint;
  std::string reason;
};
std::optional<Veto> find_veto(const Pitch& pitch, const std::vector<Constraint>& constraints,
                              const ConstraintContext& context);

// Known facts and the season's rules (constraints/*.toml, embedded), plus those learned in the ledger.
std::vector<Constraint> builtin_constraints();
std::vector<Constraint> learned_constraints(const Ledger& ledger);
// Whether it still binds in this context, or why it has reopened.
bool is_active(const Constraint& constraint, const ConstraintContext& context);

}  // namespace thresher
