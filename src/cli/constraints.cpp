// SPDX-License-Identifier: Apache-2.0
// thresher constraints: what vetoes pitches, where each comes from, and whether it still binds.
#include "tank/pitch/constraint.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/ledger_path.hpp"
#include "cli/table.hpp"

namespace thresher::cli {
namespace {

struct ConstraintsOptions {
  std::filesystem::path ledger;  // one that is named must be there
  std::string backend;
  bool json = false;
};

struct Listing {
  std::vector<Constraint> constraints;
  ConstraintContext context;
};

std::string text_of(const nlohmann::json& data, const char* name) {
  const auto found = data.find(name);
  return found != data.end() && found->is_string() ? found->get<std::string>() : "";
}

// Where the last season played here on this backend stands.
ConstraintContext context_of(const Ledger& ledger, const Backend& backend) {
  ConstraintContext context{.device = backend.device_name()};
  for (const LedgerEntry& entry : ledger.entries({}, "season")) {
    if (entry.source != "measured") continue;
    if (text_of(entry.data, "backend") != backend.name) continue;
    context.season = entry.season;
    context.suite = text_of(entry.data, "suite");
    context.champion_hash = text_of(entry.data, "champion_hash");
  }
  if (context.season.empty()) return context;
  for (const LedgerEntry& entry : ledger.entries(context.season, "champion")) {
    if (entry.source == "measured") context.champion_hash = text_of(entry.data, "champion_hash");
  }
  return context;
}

// Those that can veto a pitch of the backend: its own, those of a kind of GPU, and everybody's.
bool speaks_of(const Constraint& constraint, const std::string& backend) {
  return backend.empty() || constraint.backend.empty() || constraint.backend.starts_with(backend);
}

Listing list_all(const ConstraintsOptions& options, const Backend& backend) {
  Listing listing{builtin_constraints(), {.device = backend.device_name()}};
  const bool is_named = !options.ledger.empty();
  if (!is_named && !std::filesystem::exists(kDefaultLedger)) return listing;
  const Ledger ledger = open_existing_ledger(is_named ? options.ledger : kDefaultLedger);
  listing.context = context_of(ledger, backend);
  for (Constraint& learned : learned_constraints(ledger)) {
    listing.constraints.push_back(std::move(learned));
  }
  return listing;
}

Listing list_constraints(const ConstraintsOptions& options) {
  Listing listing = list_all(options, resolve_backend(options.backend));
  std::erase_if(listing.constraints,
                [&](const Constraint& one) { return !speaks_of(one, options.backend); });
  return listing;
}

nlohmann::json to_json(const Constraint& constraint, const Listing& listing) {
  nlohmann::json object = constraint_entry(constraint);
  const std::string why = why_inactive(constraint, listing.context);
  object["refuted_by"] = nlohmann::json::array();
  for (const Constraint* fact : refutations_of(constraint, listing.constraints)) {
    object["refuted_by"].push_back({{"id", fact->id}, {"shown_by", fact->shown_by}});
  }
  object["active"] = why.empty();
  object["why_inactive"] = why;
  object["reported"] = constraint.reported;
  return object;
}

void print_constraint(const Constraint& constraint, const Listing& listing) {
  const std::string why = why_inactive(constraint, listing.context);
  fmt::print("{}\n", constraint.id);
  Table table({{""}, {""}});
  table.add_row({"  claims", constraint.claim});
  table.add_row({"  vetoes", describe_predicate(constraint)});
  table.add_row({"  source", constraint.origin});
  table.add_row({"  kind", fmt::format("{}; speaks of {}; expires: {}", to_string(constraint.kind),
                                       constraint.scope.empty() ? "everything" : constraint.scope,
                                       constraint.expires)});
  if (!constraint.refutes.empty()) {
    table.add_row({"  refutes", fmt::format("{}: {}", constraint.refutes, constraint.shown_by)});
  }
  for (const Constraint* fact : refutations_of(constraint, listing.constraints)) {
    table.add_row({"  refuted by",
                   Cell(fmt::format("{}: {} Shown by: {}", fact->id, fact->claim, fact->shown_by),
                        Tone::kBad)});
  }
  table.add_row({"  state", why.empty() ? Cell("active", Tone::kGood) : Cell(why, Tone::kDim)});
  print(table);
}

int run_constraints(const ConstraintsOptions& options) {
  const Listing listing = list_constraints(options);
  nlohmann::json list = nlohmann::json::array();
  for (const Constraint& constraint : listing.constraints) {
    if (options.json) {
      list.push_back(to_json(constraint, listing));
    } else {
      if (&constraint != &listing.constraints.front()) fmt::print("\n");
      print_constraint(constraint, listing);
    }
  }
  if (options.json) fmt::print("{}\n", nlohmann::json{{"constraints", std::move(list)}}.dump());
  return kExitOk;
}

}  // namespace

Command constraints_command() {
  const auto options = std::make_shared<ConstraintsOptions>();
  Option backend = backend_option(options->backend);
  backend.what = "Only those that speak of this backend, as they stand on it";
  return {.name = "constraints",
          .what = "List what vetoes pitches: facts, rules, and what the ledger has learned",
          .options = {backend, ledger_option(options->ledger), json_flag(options->json)},
          .run = [options] { return run_constraints(*options); }};
}

}  // namespace thresher::cli
