// SPDX-License-Identifier: Apache-2.0
// Where pitches come from and where they go. tank/pitch/pitch_parser.cpp reads the text.
#include "tank/pitch/pitch.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "digest/sha256.hpp"
#include "tank/any_variant.hpp"
#include "tank/pitch/pitch_parser.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

namespace fs = std::filesystem;

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kLevelWords = {"low", "medium", "high"};

Pitch checked(PitchReading reading) {
  if (!reading.faults.empty()) throw Error(reading.faults.front());
  return std::move(reading.pitch);
}

// Reads one byte more than the parser takes, so that it can refuse what is too large, and no more,
// so that an endless file ends.
std::string read_start(const fs::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kPitchBytesMax + 1, '\0');
  // A directory opens but cannot be read.
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()) {
    throw Error(fmt::format("cannot read pitch '{}': {}", path.string(),
                            std::generic_category().message(errno)));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

PitchReading read_pitch_file(const fs::path& path) {
  const std::string text = read_start(path);
  return read_pitch({.toml = text,
                     .source_name = path.string(),
                     .folder = fs::absolute(path).parent_path(),
                     .stem = path.stem().string()});
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

}  // namespace

std::string_view to_string(Level level) { return kLevelWords[static_cast<std::size_t>(level)]; }

Pitch parse_pitch(std::string_view toml, std::string_view source_name) {
  return checked(read_pitch({.toml = toml, .source_name = source_name}));
}

std::vector<std::string> pitch_faults(std::string_view toml, std::string_view source_name) {
  return read_pitch({.toml = toml, .source_name = source_name}).faults;
}

Pitch load_pitch(const fs::path& path) { return checked(read_pitch_file(path)); }

std::vector<std::string> pitch_file_faults(const fs::path& path) {
  return read_pitch_file(path).faults;
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
  contestant.variant = turn_knobs(champion.variant, pitch.knobs);
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
