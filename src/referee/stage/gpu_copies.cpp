// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/gpu_copies.hpp"

#include <atomic>

#include "cpu/side_by_side.hpp"

namespace thresher::referee {
namespace {

std::vector<Inputs> draw(std::span<const GpuEntry> entries, std::uint64_t seed) {
  std::vector<Inputs> drawn(entries.size());
  cpu::side_by_side(entries.size(), [&](std::size_t i) {
    drawn[i] =
        make_inputs(entries[i].problem, InputFamily::kNatural, Random::secret(seed, i).next());
    make_factors_exact(drawn[i]);
  });
  return drawn;
}

}  // namespace

GpuCopies::GpuCopies(const gpu::Device& device, const Engine& engine, std::vector<GpuEntry> entries,
                     Random& random)
    : entries_(std::move(entries)), stage_(device, entries_, Room::kForAll) {
  const std::vector<Inputs> drawn = draw(entries_, random.next());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    witnesses_.emplace_back(engine, entries_[i].problem, drawn[i],
                            measure::WitnessOptions{.seed = random.next()});
    for (int copy = 0; copy < entries_[i].rotation.copy_count; ++copy) {
      copies_.push_back(stage_.reserve(entries_[i].problem));
      problem_of_copy_.push_back(i);
    }
  }
  signs_.resize(copies_.size());
  cpu::side_by_side(copies_.size(),
                    [&](std::size_t i) { copies_[i].inputs = drawn[problem_of_copy_[i]]; });
}

void GpuCopies::turn(Random& random) {
  const std::uint64_t seed = random.next();
  cpu::side_by_side(copies_.size(), [&](std::size_t i) {
    Random stream = Random::secret(seed, i);
    turn_rows(copies_[i].problem, copies_[i].inputs, stream);
    signs_[i] = witnesses_[problem_of_copy_[i]].row_signs(copies_[i].inputs);
    stage_.write(copies_[i]);
  });
}

std::size_t GpuCopies::first_copy(int problem_index) const {
  std::size_t first = 0;
  for (int i = 0; i < problem_index; ++i) {
    first += static_cast<std::size_t>(entries_[static_cast<std::size_t>(i)].rotation.copy_count);
  }
  return first;
}

std::span<StagedProblem> GpuCopies::of(int problem_index) {
  const GpuEntry& entry = entries_[static_cast<std::size_t>(problem_index)];
  return std::span(copies_).subspan(first_copy(problem_index),
                                    static_cast<std::size_t>(entry.rotation.copy_count));
}

std::span<const measure::RowSigns> GpuCopies::signs_of(int problem_index) const {
  const GpuEntry& entry = entries_[static_cast<std::size_t>(problem_index)];
  return std::span(signs_).subspan(first_copy(problem_index),
                                   static_cast<std::size_t>(entry.rotation.copy_count));
}

bool GpuCopies::intact() const {
  std::atomic<bool> intact = true;
  cpu::side_by_side(copies_.size(), [&](std::size_t i) {
    if (!stage_.weights_intact(copies_[i])) intact = false;
  });
  return intact;
}

}  // namespace thresher::referee
