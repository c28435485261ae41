// SPDX-License-Identifier: Apache-2.0
// The [contestant] of a pitch: exactly one of knobs, variant, source and command, and of a CUDA
// source its launches.
#pragma once

#include <filesystem>

#include "tank/pitch/pitch.hpp"
#include "tank/pitch/toml_reader.hpp"

namespace thresher {

class ContestantReader {
 public:
  // Files are looked for in `folder`, unless that is empty.
  ContestantReader(TomlReader& toml, const std::filesystem::path& folder)
      : toml_(toml), folder_(folder) {}

  // Into pitch.contestant and pitch.knobs; the pitch has its name and its backend already.
  void read(const toml::node& node, Pitch& pitch);

 private:
  void read_knobs(const toml::node& node, Pitch& pitch);
  void read_knob(const toml::key& key, const toml::node& node, Pitch& pitch);
  void read_variant(const toml::node& node, Pitch& pitch);
  void refuse_launches(const toml::table& table);
  void read_source(const toml::node& node, Pitch& pitch);
  void read_command(const toml::node& node, Pitch& pitch);

  TomlReader& toml_;
  const std::filesystem::path& folder_;
};

}  // namespace thresher
