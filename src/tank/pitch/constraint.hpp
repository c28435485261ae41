// SPDX-License-Identifier: Apache-2.0
// Constraints veto pitches: machine-checkable predicates with a source, a scope and an expiry.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tank/ledger/ledger.hpp"
#include "tank/pitch/pitch.hpp"

namespace thresher {

enum class ConstraintKind : std::uint8_t {
  kHardware,    // a fact of the machine
  kRule,        // a rule of the season
  kRegression,  // learned: this idea lost against this champion
};

std::string_view to_string(ConstraintKind kind);  // "hardware", "rule", "regression"

inline constexpr std::string_view kExpiresNever = "never";
inline constexpr std::string_view kExpiresWithChampion = "champion changes";
inline constexpr std::string_view kExpiresWithSeason = "season ends";

struct Constraint {
  std::string id;
  ConstraintKind kind = ConstraintKind::kRule;
  std::string claim;  // one sentence
  // All present parts must hold for a veto: the pitch's backend, family, and conditions on knobs
  // (tank/pitch/knob_condition.hpp), of which at least one must be on a knob that the pitch itself
  // turns: for what the champion already does, no pitch is to blame. A learned one speaks of these
  // knobs alone, and not of a pitch that turns others as well. Besides the backend's knobs there
  // are `isa`, and of a knob of the form 64x128x256 its sides: tile_rows, tile_columns, tile_depth.
  std::string backend;
  std::string family;
  std::map<std::string, std::string> knobs;
  std::string origin;         // where it comes from: a document, a probe, a ledger entry
  std::string scope;          // the suite, device or season it speaks of, empty: any
  std::string expires;        // one of the three above
  std::string champion_hash;  // learned ones: the champion they were learned against
  std::string season;         // learned ones: the season they were learned in
  std::string refutes;        // facts: the id of somebody's claim that is wrong by them
  std::string shown_by;       // and the command that shows it
  bool reported = false;      // somebody else's word: listed, but it binds nobody
};

// Where a round stands: what a constraint's scope and expiry are compared with.
struct ConstraintContext {
  std::string suite;
  std::string season;
  std::string champion_hash;
  std::string device;
};

// The first constraint that vetoes `pitch`, with a sentence; none: it may enter. A learned
// constraint yields to a pitch that brings `new_evidence`.
struct Veto {
  std::string constraint;
  std::string reason;
};
std::optional<Veto> find_veto(const Pitch& pitch, const std::vector<Constraint>& constraints,
                              const ConstraintContext& context);

// Known facts and the season's rules (constraints/*.toml, embedded), plus those in the ledger.
std::vector<Constraint> builtin_constraints();
std::vector<Constraint> learned_constraints(const Ledger& ledger);

// The facts among `constraints` that refute it.
std::vector<const Constraint*> refutations_of(const Constraint& constraint,
                                              const std::vector<Constraint>& constraints);

// Why it does not bind in this context, for example because it has reopened; empty if it does.
std::string why_inactive(const Constraint& constraint, const ConstraintContext& context);
bool is_active(const Constraint& constraint, const ConstraintContext& context);

// "backend gpu_sm100, tile_rows != 128 and != 256": what it vetoes.
std::string describe_predicate(const Constraint& constraint);

// Throws Error with every fault, one per line: "file:line:column: what is wrong".
std::vector<Constraint> parse_constraints(std::string_view toml, std::string_view source_name);

// A lost match, as far as a constraint tells of it.
struct Loss {
  std::string season;
  int round = 0;
  std::string suite;
  std::string champion_hash;
  std::string reason;              // the verdict's
  std::int64_t verdict_entry = 0;  // its id in the ledger
};

// What a loss teaches: these knobs do not beat this champion on this suite. Nothing if the pitch
// turns no knobs, since then there is no predicate that a machine could check.
std::optional<Constraint> lesson_of(const Pitch& pitch, const Loss& loss);

// The data of a `constraint` entry (docs/ledger.md), and back. Throws Error naming the entry.
nlohmann::json constraint_entry(const Constraint& constraint);
Constraint constraint_from_entry(const LedgerEntry& entry);

}  // namespace thresher
