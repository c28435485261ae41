// SPDX-License-Identifier: Apache-2.0
#include "cli/pitch_shipped.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/pitch_needs.hpp"
#include "cli/table.hpp"
#include "engine/backends.hpp"
#include "tank/pitch/pitch.hpp"
#include "tank/pitch/shipped_pitches.hpp"

namespace thresher::cli {
namespace {

namespace fs = std::filesystem;

struct ListOptions {
  bool json = false;
};

struct ShowOptions {
  std::string name;
  std::string backend;
  fs::path folder;
};

Pitch parsed(const ShippedPitch& shipped) {
  return parse_pitch(shipped.text, shipped.name + ".toml", {.folder = {}, .stem = shipped.name});
}

// In which season it is played when nobody names pitches.
std::string season_of(const ShippedPitch& shipped) {
  for (const Backend* backend : backends()) {
    if (shipped.folder == backend->pitch_folder) return std::string(backend->name);
  }
  return "";
}

std::string claim_text(const Claim& claim) {
  return claim.low < claim.high ? fmt::format("{:.2f} to {:.2f}x", claim.low, claim.high)
                                : fmt::format("{:.2f}x", claim.value);
}

int run_list(const ListOptions& options) {
  nlohmann::json list = nlohmann::json::array();
  Table table({{"pitch"}, {"backend"}, {"season of"}, {"claims", Align::kRight}, {"idea"}});
  for (const ShippedPitch& shipped : shipped_pitches()) {
    const Pitch pitch = parsed(shipped);
    const std::string season = season_of(shipped);
    table.add_row({pitch.name, pitch.backend, season.empty() ? Cell("none", Tone::kDim) : season,
                   claim_text(pitch.claim), pitch.title});
    list.push_back({{"name", pitch.name},
                    {"backend", pitch.backend},
                    {"season_of", season},
                    {"title", pitch.title},
                    {"needs", pitch.needs}});
  }
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"pitches", std::move(list)}}.dump());
  } else {
    print(table);
    fmt::print("\n'thresher pitch show NAME -o FOLDER' writes one to start from.\n");
  }
  return kExitOk;
}

// The season's own first, where several have the name.
ShippedPitch found(const ShowOptions& options) {
  std::vector<ShippedPitch> matching;
  std::vector<std::string> names;
  for (const ShippedPitch& one : shipped_pitches()) {
    if (std::find(names.begin(), names.end(), one.name) == names.end()) names.push_back(one.name);
    const bool of_backend = options.backend.empty() || parsed(one).backend == options.backend;
    if (one.name == options.name && of_backend) matching.push_back(one);
  }
  if (!matching.empty()) return matching.front();
  std::sort(names.begin(), names.end());
  throw UsageError(fmt::format("there is no built-in pitch '{}'{}; there are {}", options.name,
                               options.backend.empty() ? "" : " for backend " + options.backend,
                               fmt::join(names, ", ")));
}

int run_show(const ShowOptions& options) {
  const ShippedPitch pitch = found(options);
  if (options.folder.empty()) {
    fmt::print("{}", pitch.text);
    return kExitOk;
  }
  for (const fs::path& path : write_shipped_pitch(pitch, options.folder)) {
    fmt::print("{}\n", path.string());
  }
  return kExitOk;
}

}  // namespace

Command pitch_list_command() {
  const auto options = std::make_shared<ListOptions>();
  return {.name = "list",
          .what = "The built-in pitches, and which of them a season plays when nobody names any",
          .options = {json_flag(options->json)},
          .run = [options] { return run_list(*options); }};
}

Command pitch_show_command() {
  const auto options = std::make_shared<ShowOptions>();
  Option backend = backend_option(options->backend);
  backend.default_text = "cpu where both have one";
  return {.name = "show",
          .what = "Print a built-in pitch, or write it and all that it runs to a folder",
          .options = {{.name = "name",
                       .value = &options->name,
                       .what = "Of a built-in pitch",
                       .required = true},
                      backend,
                      {.name = "-o,--output",
                       .value = &options->folder,
                       .what = "The folder to write to",
                       .default_text = "none: the pitch is printed"}},
          .run = [options] { return run_show(*options); }};
}

}  // namespace thresher::cli
