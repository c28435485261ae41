// SPDX-License-Identifier: Apache-2.0
// Where pitches come from and where they go. tank/pitch/pitch_parser.cpp reads the text.
#include "tank/pitch/pitch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "digest/sha256.hpp"
#include "engine/backends.hpp"
#include "gemm/toml_words.hpp"
#include "tank/pitch/toml_reader.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

namespace fs = std::filesystem;

PitchFile file_of(const fs::path& path) {
  return {.folder = fs::absolute(path).parent_path(), .stem = path.stem().string()};
}

nlohmann::json to_json(const Claim& claim) {
  return {{"value", claim.value}, {"low", claim.low}, {"high", claim.high}};
}

nlohmann::json contestant_json(const Pitch& pitch) {
  const Contestant& contestant = pitch.contestant;
  return {{"kind", to_string(contestant.kind)}, {"name", contestant.name},
          {"variant", contestant.variant},      {"source", contestant.source.string()},
          {"command", contestant.command},      {"knobs", pitch.knobs}};
}

// Other files of this house that may lie beside a pitch: a suite, constraints, ballots.
bool is_something_else(const fs::path& path) {
  TomlReader reader(path.string());
  const std::optional<toml::table> root =
      reader.parse(read_start(path, "pitch", kPitchBytesMax), kPitchBytesMax);
  if (!root || root->contains("contestant")) return false;
  return root->contains("problem") || root->contains("constraint") || root->contains("ballot");
}

}  // namespace

Pitch load_pitch(const fs::path& path) {
  return parse_pitch(read_start(path, "pitch", kPitchBytesMax), path.string(), file_of(path));
}

std::vector<std::string> pitch_file_faults(const fs::path& path) {
  return pitch_faults(read_start(path, "pitch", kPitchBytesMax), path.string(), file_of(path));
}

std::vector<fs::path> pitch_files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const bool may_be_one = entry.path().extension() == ".toml" && entry.is_regular_file();
    if (may_be_one && !is_something_else(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Contestant contestant_against(const Pitch& pitch, const Contestant& champion) {
  Contestant contestant = pitch.contestant;
  const bool lays_knobs = contestant.kind == ContestantKind::kVariant && contestant.variant.empty();
  if (!lays_knobs) return contestant;
  if (champion.kind != ContestantKind::kVariant || champion.variant.empty()) {
    throw Error(
        fmt::format("pitch '{}' lays its knobs over the champion's variant, and the "
                    "champion '{}' is none; name a whole variant instead",
                    pitch.name, champion.name));
  }
  contestant.variant = backend_of_variant(champion.variant).turned(champion.variant, pitch.knobs);
  contestant.name = contestant.variant;
  return contestant;
}

nlohmann::json pitch_entry(const Pitch& pitch) {
  nlohmann::json claims = nlohmann::json::object();
  for (const auto& [problem, claim] : pitch.claim_by_problem) claims[problem] = to_json(claim);
  return {{"name", pitch.name},
          {"title", pitch.title},
          {"author", pitch.author},
          {"family", pitch.family},
          {"suite", pitch.suite},
          {"backend", pitch.backend},
          {"claim", to_json(pitch.claim)},
          {"claim_by_problem", std::move(claims)},
          {"risk", to_string(pitch.risk)},
          {"complexity", to_string(pitch.complexity)},
          {"mechanism", pitch.mechanism},
          {"bottleneck", pitch.bottleneck},
          {"evidence", pitch.evidence},
          {"rollback", pitch.rollback},
          {"new_evidence", pitch.new_evidence},
          {"contestant", contestant_json(pitch)},
          {"hash", sha256_hex(pitch.source_text)},
          {"text", pitch.source_text}};
}

}  // namespace thresher
