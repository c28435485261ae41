// SPDX-License-Identifier: Apache-2.0
// TOML text to Pitch. Every complaint names the line and the column of the value it is about;
// docs/pitches.md lists them. Nothing in a file makes the reader crash, recurse deeply or allocate
// much.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "assert.hpp"
#include "engine/backends.hpp"
#include "gemm/suite.hpp"
#include "referee/venue.hpp"
#include "spelling.hpp"
#include "tank/pitch/contestant_reader.hpp"
#include "tank/pitch/pitch.hpp"
#include "tank/pitch/toml_reader.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

constexpr std::array<std::string_view, 17> kPitchKeys = {
    "name",     "title",     "author",           "suite",     "backend",
    "family",   "claim",     "claim_by_problem", "mechanism", "bottleneck",
    "evidence", "risk",      "complexity",       "rollback",  "new_evidence",
    "needs",    "contestant"};

// Where matches are played, and the B200 of the season that started it, of which there are reports.
std::vector<std::string_view> backend_words() {
  std::vector<std::string_view> words;
  for (const Backend* backend : backends()) {
    if (referee::find_venue(backend->name) != nullptr) words.push_back(backend->name);
  }
  words.push_back("gpu_sm100");
  return words;
}

// What a pitch cannot do without, and what each of them is for.
struct Needed {
  std::string_view key;
  std::string_view purpose;
};
constexpr Needed kName{"name", "it identifies the pitch in ledger and report, and names its file"};
constexpr Needed kSuite{"suite", "it says which problems the claim is about"};
constexpr Needed kMechanism{
    "mechanism", "it says why the contestant should be faster, so that a judge can doubt it"};
constexpr Needed kClaim{"claim",
                        "a predicted speedup is what the verdict is compared with, such as 1.2 or "
                        "{low = 1.1, high = 1.3}"};
constexpr Needed kContestant{"[contestant]",
                             "it says what to run: knobs, variant, source or command"};

constexpr std::array<std::string_view, 3> kClaimKeys = {"value", "low", "high"};
// Beyond it nobody means what they wrote, and sums of logarithms stay far from infinity.
constexpr double kClaimedSpeedupMax = 1e6;

// Rounding must not put it outside: then low = high would be no range.
double geometric_middle(double low, double high) {
  return std::min(std::max(std::sqrt(low) * std::sqrt(high), low), high);
}

// Predicted speedups as people write them: a number, or a table with value, low and high.
class ClaimReader {
 public:
  explicit ClaimReader(TomlReader& toml) : toml_(toml) {}

  // `what` names the claim in faults. Without a value, the geometric middle of low and high.
  std::optional<Claim> read(const toml::node& node, std::string_view what) {
    if (const toml::table* table = node.as_table()) return read_range(*table, what);
    if (!node.is_number()) {
      toml_.note(node,
                 fmt::format("{} is {}; a number or a table with value, low and high is allowed",
                             what, describe_type(node)));
      return std::nullopt;
    }
    const std::optional<double> value = read_speedup(node, std::string(what));
    if (!value) return std::nullopt;
    return Claim{*value, *value, *value};
  }

  // One claim per problem; those that name no problem of `suite` are faults.
  std::map<std::string, Claim> read_by_problem(const toml::node& node,
                                               const std::optional<Suite>& suite) {
    std::map<std::string, Claim> claims;
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      toml_.note(node, fmt::format("claim_by_problem is {}; a table with one claim per problem is "
                                   "allowed",
                                   describe_type(node)));
      return claims;
    }
    for (const auto& [key, value] : *table) {
      if (suite) check_is_problem(key, *suite);
      const std::optional<Claim> claim =
          read(value, fmt::format("the claim of {}", quote_value(key.str())));
      if (claim) claims.emplace(key.str(), *claim);
    }
    return claims;
  }

 private:
  std::optional<double> read_speedup(const toml::node& node, const std::string& what) {
    if (!node.is_number()) {
      toml_.note(node, fmt::format("{} is {}; a number is allowed", what, describe_type(node)));
      return std::nullopt;
    }
    const double value = node.is_integer() ? static_cast<double>(node.as_integer()->get())
                                           : node.as_floating_point()->get();
    if (value > 0 && value <= kClaimedSpeedupMax) return value;
    toml_.note(node, fmt::format("{} = {} is no speedup; a number above 0 and up to {} is allowed",
                                 what, value, kClaimedSpeedupMax));
    return std::nullopt;
  }

  std::optional<Claim> read_range(const toml::table& table, std::string_view what) {
    toml_.check_keys(table, kClaimKeys, "a claim");
    std::array<std::optional<double>, 3> parts;
    for (std::size_t i = 0; i < kClaimKeys.size(); ++i) {
      const toml::node* node = table.get(kClaimKeys[i]);
      if (node == nullptr) continue;
      parts[i] = read_speedup(*node, fmt::format("{}.{}", what, kClaimKeys[i]));
      if (!parts[i]) return std::nullopt;
    }
    const auto& [value, low, high] = parts;
    if (!value && (!low || !high)) {
      toml_.note(table, fmt::format("{} has neither a value nor both low and high", what));
      return std::nullopt;
    }
    const double middle = value ? *value : geometric_middle(*low, *high);
    const Claim claim{middle, low.value_or(middle), high.value_or(middle)};
    if (claim.low <= claim.value && claim.value <= claim.high) return claim;
    toml_.note(table, fmt::format("{} has low = {}, value = {}, high = {}; low <= value <= high is "
                                  "allowed",
                                  what, claim.low, claim.value, claim.high));
    return std::nullopt;
  }

  void check_is_problem(const toml::key& key, const Suite& suite) {
    std::vector<std::string> names;
    for (const Problem& problem : suite.problems) names.push_back(problem.name);
    if (std::find(names.begin(), names.end(), key.str()) != names.end()) return;
    toml_.note(key.source().begin,
               fmt::format("{} is no problem of suite {}; it has {}{}", quote_value(key.str()),
                           suite.name, fmt::join(names, ", "), did_you_mean(key.str(), names)));
  }

  TomlReader& toml_;
};

// Of value, low and high each.
Claim geomean(const std::map<std::string, Claim>& claims) {
  THRESHER_ASSERT(!claims.empty());
  Claim logs{0, 0, 0};
  for (const auto& [problem, claim] : claims) {
    logs.value += std::log(claim.value);
    logs.low += std::log(claim.low);
    logs.high += std::log(claim.high);
  }
  const auto count = static_cast<double>(claims.size());
  return {std::exp(logs.value / count), std::exp(logs.low / count), std::exp(logs.high / count)};
}

class PitchReader {
 public:
  PitchReader(std::string_view text, std::string_view source_name, const PitchFile& file)
      : file_(file), toml_(source_name) {
    if (const std::optional<toml::table> root = toml_.parse(text, kPitchBytesMax)) {
      read_pitch(*root);
    }
    pitch_.source_text = text;
  }

  std::vector<std::string> faults() const { return toml_.faults(); }
  Pitch& pitch() { return pitch_; }  // complete only without faults

 private:
  void read_pitch(const toml::table& root) {
    toml_.check_keys(root, kPitchKeys, "a pitch");
    read_name(root);
    pitch_.title = toml_.read_line(root, "title").value_or(pitch_.name);
    pitch_.author = toml_.read_line(root, "author").value_or("");
    pitch_.backend = toml_.read_word(root, "backend", backend_words()).value_or(pitch_.backend);
    pitch_.family = read_family(root);
    pitch_.mechanism = read_needed_text(root, kMechanism);
    pitch_.bottleneck = toml_.read_text(root, "bottleneck").value_or("");
    pitch_.evidence = toml_.read_text(root, "evidence").value_or("");
    pitch_.rollback = toml_.read_text(root, "rollback").value_or("");
    pitch_.new_evidence = toml_.read_text(root, "new_evidence").value_or("");
    pitch_.needs = toml_.read_line(root, "needs").value_or("");
    pitch_.risk = read_level(root, "risk");
    pitch_.complexity = read_level(root, "complexity");
    read_claims(root, read_suite(root));
    if (const toml::node* contestant = root.get("contestant")) {
      read_contestant(*contestant, file_.folder, toml_, pitch_);
    } else {
      note_missing(root, kContestant);
    }
  }

  void note_missing(const toml::table& root, const Needed& part) {
    toml_.note(root, fmt::format("the pitch has no {}; {}", part.key, part.purpose));
  }

  void read_name(const toml::table& root) {
    if (!root.contains(kName.key)) return note_missing(root, kName);
    const std::optional<std::string> name = toml_.read_line(root, kName.key);
    if (!name || !check_name(root, kName.key, *name)) return;
    pitch_.name = *name;
    if (file_.stem.empty() || file_.stem == pitch_.name) return;
    toml_.note(*root.get(kName.key),
               fmt::format("the pitch is called {} and its file {}; they must be called the same",
                           quote_value(pitch_.name), quote_value(file_.stem + ".toml")));
  }

  bool check_name(const toml::table& root, std::string_view key, std::string_view name) {
    std::string fault = fault_of_name(name);
    if (fault.empty()) return true;
    toml_.note(*root.get(key), std::move(fault));
    return false;
  }

  std::string read_family(const toml::table& root) {
    const std::optional<std::string> family = toml_.read_line(root, "family");
    return family && check_name(root, "family", *family) ? *family : pitch_.name;
  }

  std::string read_needed_text(const toml::table& root, const Needed& part) {
    if (!root.contains(part.key)) {
      note_missing(root, part);
      return {};
    }
    const std::optional<std::string> text = toml_.read_text(root, part.key);
    if (text && text->find_first_not_of(" \n\t") == std::string::npos) {
      toml_.note(*root.get(part.key), fmt::format("{} is empty; {}", part.key, part.purpose));
    }
    return text.value_or("");
  }

  Level read_level(const toml::table& root, std::string_view key) {
    const std::optional<std::string> word = toml_.read_word(root, key, kLevelWords);
    if (!word) return Level::kMedium;
    const auto found = std::find(kLevelWords.begin(), kLevelWords.end(), *word);
    return static_cast<Level>(found - kLevelWords.begin());
  }

  // Nothing where there is no suite to compare claims with; that is a fault of its own.
  std::optional<Suite> read_suite(const toml::table& root) {
    if (!root.contains(kSuite.key)) {
      note_missing(root, kSuite);
      return std::nullopt;
    }
    const std::optional<std::string> name = toml_.read_line(root, kSuite.key);
    if (!name) return std::nullopt;
    const std::filesystem::path path = *name;
    pitch_.suite = path.extension() == ".toml" ? (file_.folder / path).string() : *name;
    try {
      return load_suite(pitch_.suite);
    } catch (const Error& error) {
      toml_.note(*root.get(kSuite.key), error.what());
      return std::nullopt;
    }
  }

  void read_claims(const toml::table& root, const std::optional<Suite>& suite) {
    ClaimReader reader(toml_);
    if (const toml::node* claims = root.get("claim_by_problem")) {
      pitch_.claim_by_problem = reader.read_by_problem(*claims, suite);
    }
    if (const toml::node* claim = root.get(kClaim.key)) {
      pitch_.claim = reader.read(*claim, kClaim.key).value_or(Claim{});
    } else if (suite && pitch_.claim_by_problem.size() == suite->problems.size()) {
      pitch_.claim = geomean(pitch_.claim_by_problem);
    } else {
      note_missing(root, kClaim);
    }
  }

  const PitchFile& file_;
  TomlReader toml_;
  Pitch pitch_;
};

}  // namespace

Pitch parse_pitch(std::string_view toml, std::string_view source_name, const PitchFile& file) {
  PitchReader reader(toml, source_name, file);
  const std::vector<std::string> faults = reader.faults();
  if (!faults.empty()) throw Error(faults.front());
  return std::move(reader.pitch());
}

std::vector<std::string> pitch_faults(std::string_view toml, std::string_view source_name,
                                      const PitchFile& file) {
  return PitchReader(toml, source_name, file).faults();
}

}  // namespace thresher
