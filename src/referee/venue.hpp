// SPDX-License-Identifier: Apache-2.0
// A venue is where contestants of one backend meet: how they are built, put through the gates,
// timed and served by our own worker, and what their sandbox must allow. Each is a row of functions
// in venue.cpp; everybody else in the referee asks the row, and nobody which backend it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/random.hpp"
#include "gemm/speed_of_light.hpp"
#include "referee/contestant/build.hpp"
#include "referee/hold.hpp"
#include "referee/sandbox/sandbox.hpp"
#include "referee/timing/arm.hpp"
#include "referee/timing/sampler.hpp"
#include "referee/worker/worker.hpp"

namespace thresher::referee {

struct Venue {
  std::string_view backend;
  // A kind of contestants that can only mean this venue, whatever they say.
  std::optional<ContestantKind> own_kind;
  SandboxNeeds sandbox;
  // Whose word the time of a call is that our own worker makes.
  SampleClock clock;
  // Of a timed call. On a GPU a sample is a batch of calls that follow each other.
  measure::Surroundings surroundings;
  // Giving back what a worker has, piece by piece, takes longer than ending its process.
  bool leaves_worker_behind;

  // `kernel_folder` is for what is compiled for all processes of the match.
  std::unique_ptr<Hold> (*hold)(const EngineOptions& gpu, int thread_count,
                                const std::filesystem::path& kernel_folder);
  // Layers of the sandbox inside of which a worker of ours does not start, and why.
  std::vector<std::string> (*stopping_layers)(const Problem& problem, const ArmOptions& arm,
                                              std::uint64_t seed);
  // What the machine can do at most; none where nobody wants to know, both contestants being
  // `ours`.
  std::optional<MachineRates> (*rates)(const ArmOptions& arm, bool ours);
  // The same, measured now.
  MachineRates (*rates_again)(const ArmOptions& arm);
  BuildResult (*build)(const Contestant& contestant, const std::vector<SourceFile>& sources,
                       const BuildOptions& options);
  StagedArm (*make_staged_arm)(const Job& job, std::span<const Problem> problems,
                               const ArmOptions& options, std::uint64_t seed);
  Samplers (*samplers)(const Contest& contest, Random& random);
  std::unique_ptr<Worker> (*make_worker)(const Job& job, const Request& hello);
};

// Null where nothing is judged.
const Venue* find_venue(std::string_view backend);
// Throws Error there.
const Venue& venue_of(std::string_view backend);

}  // namespace thresher::referee
