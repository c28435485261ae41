// SPDX-License-Identifier: Apache-2.0
// Every complaint names the line and the column of the value it is about; docs/pitches.md lists
// them. Nothing in a file makes the reader crash, recurse deeply or allocate much.
#include "tank/pitch/pitch_parser.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <optional>

#include "gemm/suite.hpp"
#include "tank/pitch/claim_reader.hpp"
#include "tank/pitch/contestant_reader.hpp"
#include "tank/pitch/toml_reader.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

constexpr std::array<std::string_view, 16> kPitchKeys = {
    "name",       "title",      "author",       "suite",
    "backend",    "family",     "claim",        "claim_by_problem",
    "mechanism",  "bottleneck", "evidence",     "risk",
    "complexity", "rollback",   "new_evidence", "contestant"};
constexpr std::array<std::string_view, 3> kBackends = {"cpu", "gpu", "gpu_sm100"};
constexpr std::array<std::string_view, 3> kLevels = {"low", "medium", "high"};

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

class PitchReader {
 public:
  explicit PitchReader(const PitchText& text) : text_(text), toml_(text.source_name) {}

  PitchReading read() {
    if (const std::optional<toml::table> root = toml_.parse(text_.toml, kPitchBytesMax)) {
      read_pitch(*root);
    }
    pitch_.source_text = text_.toml;
    return {std::move(pitch_), toml_.faults()};
  }

 private:
  void read_pitch(const toml::table& root) {
    toml_.check_keys(root, kPitchKeys, "a pitch");
    read_name(root);
    pitch_.title = toml_.read_line(root, "title").value_or(pitch_.name);
    pitch_.author = toml_.read_line(root, "author").value_or("");
    pitch_.backend = read_word(root, "backend", kBackends).value_or("cpu");
    pitch_.family = read_family(root);
    pitch_.mechanism = read_needed_text(root, kMechanism);
    pitch_.bottleneck = toml_.read_text(root, "bottleneck").value_or("");
    pitch_.evidence = toml_.read_text(root, "evidence").value_or("");
    pitch_.rollback = toml_.read_text(root, "rollback").value_or("");
    pitch_.new_evidence = toml_.read_text(root, "new_evidence").value_or("");
    pitch_.risk = read_level(root, "risk");
    pitch_.complexity = read_level(root, "complexity");
    read_claims(root, read_suite(root));
    if (const toml::node* contestant = root.get("contestant")) {
      ContestantReader(toml_, text_.folder).read(*contestant, pitch_);
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
    if (text_.stem.empty() || text_.stem == pitch_.name) return;
    toml_.note(*root.get(kName.key),
               fmt::format("the pitch is called {} and its file {}; they must be called the same",
                           quote_value(pitch_.name), quote_value(text_.stem + ".toml")));
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

  std::optional<std::string> read_word(const toml::table& root, std::string_view key,
                                       std::span<const std::string_view> words) {
    const std::optional<std::string> word = toml_.read_line(root, key);
    if (!word || std::find(words.begin(), words.end(), *word) != words.end()) return word;
    toml_.note(*root.get(key), fmt::format("{} = {} is none of {}", key, quote_value(*word),
                                           fmt::join(words, ", ")));
    return std::nullopt;
  }

  Level read_level(const toml::table& root, std::string_view key) {
    const std::optional<std::string> word = read_word(root, key, kLevels);
    if (!word) return Level::kMedium;
    return static_cast<Level>(std::find(kLevels.begin(), kLevels.end(), *word) - kLevels.begin());
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
    pitch_.suite = path.extension() == ".toml" ? (text_.folder / path).string() : *name;
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

  const PitchText& text_;
  TomlReader toml_;
  Pitch pitch_;
};

}  // namespace

PitchReading read_pitch(const PitchText& text) { return PitchReader(text).read(); }

}  // namespace thresher
