// SPDX-License-Identifier: Apache-2.0
// Constraint files: TOML text to constraints, and those that travel inside the binary.
#include <fmt/format.h>

#include <array>
#include <set>

#include "embedded_file.hpp"
#include "tank/pitch/constraint.hpp"
#include "tank/pitch/knob_condition.hpp"
#include "tank/pitch/toml_reader.hpp"

namespace thresher {
namespace {

constexpr std::size_t kConstraintBytesMax = std::size_t{1} << 20;
constexpr std::array<std::string_view, 1> kConstraintFileKeys = {"constraint"};
constexpr std::array<std::string_view, 11> kConstraintKeys = {
    "id",     "kind",  "claim",   "backend", "family",  "knobs",
    "origin", "scope", "expires", "refutes", "shown_by"};
// What a file can state. A regression is learned from a match, and only the ledger has matches.
constexpr std::array<std::string_view, 2> kConstraintKinds = {"hardware", "rule"};
constexpr std::array<std::string_view, 2> kExpiries = {kExpiresNever, kExpiresWithSeason};

class ConstraintReader {
 public:
  explicit ConstraintReader(std::string_view source_name) : toml_(source_name) {}

  std::vector<Constraint> read(std::string_view text) {
    std::vector<Constraint> constraints;
    if (const std::optional<toml::table> root = toml_.parse(text, kConstraintBytesMax)) {
      toml_.check_keys(*root, kConstraintFileKeys, "a constraint file");
      constraints = read_all(*root);
    }
    toml_.throw_faults();
    return constraints;
  }

 private:
  std::vector<Constraint> read_all(const toml::table& root) {
    std::vector<Constraint> constraints;
    std::set<std::string> ids;
    for (const toml::table* table : toml_.read_tables(root, "constraint")) {
      Constraint constraint = read_constraint(*table);
      if (!constraint.id.empty() && !ids.insert(constraint.id).second) {
        toml_.note(*table, fmt::format("the id {} is taken", quote_value(constraint.id)));
      }
      constraints.push_back(std::move(constraint));
    }
    return constraints;
  }

  Constraint read_constraint(const toml::table& table) {
    toml_.check_keys(table, kConstraintKeys, "a constraint");
    Constraint constraint;
    constraint.id = read_needed(table, "id");
    constraint.claim = read_needed(table, "claim");
    constraint.origin = read_needed(table, "origin");
    constraint.kind = read_word(table, "kind", kConstraintKinds) == "hardware"
                          ? ConstraintKind::kHardware
                          : ConstraintKind::kRule;
    constraint.expires = read_word(table, "expires", kExpiries);
    constraint.backend = toml_.read_line(table, "backend").value_or("");
    constraint.family = toml_.read_line(table, "family").value_or("");
    constraint.scope = toml_.read_line(table, "scope").value_or("");
    constraint.refutes = toml_.read_line(table, "refutes").value_or("");
    constraint.shown_by = toml_.read_line(table, "shown_by").value_or("");
    if (constraint.refutes.empty() != constraint.shown_by.empty()) {
      toml_.note(table, "what refutes a claim says both: refutes, and shown_by");
    }
    // A rule ends with the season that it is a rule of.
    constraint.season = constraint.scope;
    if (constraint.expires == kExpiresWithSeason && constraint.scope.empty()) {
      toml_.note(table, "the constraint expires when the season ends, and its scope names none");
    }
    read_knobs(table, constraint);
    if (constraint.backend.empty() && constraint.family.empty() && constraint.knobs.empty()) {
      toml_.note(table,
                 "the constraint has neither backend, family nor knobs; it would veto every "
                 "pitch");
    }
    return constraint;
  }

  std::string read_needed(const toml::table& table, std::string_view key) {
    const std::optional<std::string> text = toml_.read_line(table, key);
    if (!table.contains(key) || (text && text->empty())) note_missing(table, key);
    return text.value_or("");
  }

  std::string read_word(const toml::table& table, std::string_view key,
                        std::span<const std::string_view> words) {
    if (!table.contains(key)) note_missing(table, key);
    return toml_.read_word(table, key, words).value_or("");
  }

  void note_missing(const toml::table& table, std::string_view key) {
    toml_.note(table, fmt::format("the constraint has no {}", key));
  }

  void read_knobs(const toml::table& table, Constraint& constraint) {
    const toml::node* node = table.get("knobs");
    if (node == nullptr) return;
    if (!node->is_table()) {
      return toml_.note(*node, fmt::format("knobs is {}; a table such as {{stages = \"> 1\"}} is "
                                           "allowed",
                                           describe_type(*node)));
    }
    for (const auto& [key, value] : *node->as_table()) {
      const std::optional<std::string> condition = toml_.line_of(value, key.str());
      if (!condition) continue;
      const std::string fault = fault_of_condition(*condition);
      if (!fault.empty()) toml_.note(value, fault);
      constraint.knobs.emplace(key.str(), *condition);
    }
  }

  TomlReader toml_;
};

}  // namespace

std::vector<Constraint> parse_constraints(std::string_view toml, std::string_view source_name) {
  return ConstraintReader(source_name).read(toml);
}

std::vector<Constraint> builtin_constraints() {
  std::vector<Constraint> constraints;
  for (const EmbeddedFile& file : kConstraintFiles) {
    for (Constraint& constraint : parse_constraints(file.text, fmt::format("{}.toml", file.name))) {
      constraints.push_back(std::move(constraint));
    }
  }
  return constraints;
}

}  // namespace thresher
