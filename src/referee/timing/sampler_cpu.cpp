// SPDX-License-Identifier: Apache-2.0
// Samples on the CPU: single calls, with cold or warm caches.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "referee/stage/eviction.hpp"
#include "referee/stage/outputs.hpp"
#include "referee/stage/rotation.hpp"
#include "referee/timing/sampler.hpp"
#include "referee/timing/weather.hpp"

namespace thresher::referee {
namespace {

using measure::RowSigns;
using measure::Witness;
using measure::WitnessOptions;

constexpr int kRepeatsMax = 15;

// Whoever has a library or a program of its own may read the weights where the referee put them,
// all arms the same bytes. Our own variants read what they have packed, each its own.
bool reads_shared_weights(const Side& side) { return side.job.kind != JobKind::kVariant; }

// The weights of a match: drawn once, with a witness for each problem, and turned anew for every
// heat. Fresh processes see them, whatever earlier ones saw.
struct DrawnWeights {
  std::vector<Inputs> inputs;
  std::vector<Witness> witnesses;
};

DrawnWeights draw_weights(const Contest& contest, Random& random) {
  DrawnWeights drawn;
  for (const Problem& problem : contest.suite.problems) {
    drawn.inputs.push_back(make_inputs(problem, InputFamily::kNatural, random.next()));
    make_factors_exact(drawn.inputs.back());
    drawn.witnesses.emplace_back(*contest.arm.engine, problem, drawn.inputs.back(),
                                 WitnessOptions{.seed = random.next()});
  }
  return drawn;
}

class CpuSampler final : public Sampler {
 public:
  CpuSampler(const Contest& contest, DrawnWeights& drawn, Random& random)
      : contest_(contest),
        drawn_(drawn),
        random_(random),
        stage_(contest.suite.problems, Room::kForAll),
        weights_shared_(reads_shared_weights(contest.champion) ||
                        reads_shared_weights(contest.challenger)) {
    for (std::size_t i = 0; i < contest.suite.problems.size(); ++i) {
      const Problem& problem = contest.suite.problems[i];
      turn_rows(problem, drawn.inputs[i], random_);
      signs_.push_back(drawn.witnesses[i].row_signs(drawn.inputs[i]));
      staged_.push_back(stage_.put(problem, std::move(drawn.inputs[i])));
    }
    draws_.resize(staged_.size());
    for (const Role role : in_random_order(random_)) {
      arms_[static_cast<std::size_t>(role)] = make_cpu_arm(
          side_of(contest, role).job, stage_, contest.suite.problems, contest.arm, random_.next());
    }
  }

  ~CpuSampler() override {
    for (std::size_t i = 0; i < staged_.size(); ++i) {
      restore_natural(i);
      drawn_.inputs[i] = std::move(staged_[i].inputs);
    }
  }

  Arm& arm(Role role) override { return *arms_[static_cast<std::size_t>(role)]; }

  std::optional<Fault> prepare(Role role) override {
    std::optional<Fault> fault;
    for (const StagedProblem& staged : staged_) {
      if (!fault) fault = on_problem(staged.problem.name, arm(role).prepare(staged));
    }
    return fault;
  }

  double begin_row() override {
    if (!contest_.cold) return reference_spin_ns();
    const Clock::time_point begin = Clock::now();
    evict_caches(contest_.arm.cores);
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  }

  int repeats_max() const override { return kRepeatsMax; }

  void draw(int problem_index) override {
    const auto index = static_cast<std::size_t>(problem_index);
    StagedProblem& staged = staged_[index];
    Draw& draw = draws_[index];
    restore_natural(index);
    if (!contest_.cold) {
      redraw_activations(staged.problem, staged.inputs, random_);
      draw.warming = activations_of(staged.inputs);
    }
    redraw_activations(staged.problem, staged.inputs, random_);
    if (toss_exact(staged.problem, random_)) {
      draw.natural = activations_of(staged.inputs);
      draw_exact_activations(staged.problem, staged.inputs, random_);
    }
    if (contest_.cold) drawn_.witnesses[index].testify(staged.inputs, signs_[index]);
  }

  // Where caches are to be warm, an untimed call of the same problem comes right before, with
  // values of its own; what it made of its outputs is looked at when both are done.
  TimedSample sample(Role role, int problem_index, double slowed_share) override {
    const auto index = static_cast<std::size_t>(problem_index);
    StagedProblem& staged = staged_[index];
    CallResult warming;
    if (!contest_.cold) {
      swap_activations(draws_[index].warming, staged.inputs);
      warming = arm(role).call(staged, {});
      swap_activations(draws_[index].warming, staged.inputs);
      if (warming.fault) return {.fault = std::move(warming.fault)};
    }
    CallResult result = arm(role).call(staged, {.slowed_share = slowed_share,
                                                .flushed = contest_.cold,
                                                .weights_flushed = weights_shared_});
    if (!result.fault) result.fault = check_light(contest_, role, staged.problem, result.ns);
    if (!result.fault) result.fault = find_wrong_call(index, result.outputs);
    if (!result.fault && !contest_.cold) result.fault = find_wrong_warming(index, warming.outputs);
    return {.fault = std::move(result.fault), .ns = result.ns};
  }

  bool weights_intact() const override {
    return std::all_of(staged_.begin(), staged_.end(),
                       [&](const StagedProblem& staged) { return stage_.weights_intact(staged); });
  }

 private:
  // The values of the calls to come; `StagedProblem::inputs` has those of the timed one.
  struct Draw {
    std::optional<Inputs> natural;  // what exact ones stand in the place of
    Inputs warming;
  };

  void restore_natural(std::size_t index) {
    std::optional<Inputs>& natural = draws_[index].natural;
    if (natural) put_activations(std::move(*natural), staged_[index].inputs);
    natural.reset();
  }

  static void swap_activations(Inputs& activations, Inputs& inputs) {
    Inputs own = activations_of(inputs);
    put_activations(std::exchange(activations, std::move(own)), inputs);
  }

  std::optional<Fault> find_wrong_call(std::size_t index, const std::vector<OutputView>& outputs) {
    const StagedProblem& staged = staged_[index];
    Witness& witness = drawn_.witnesses[index];
    // A witness knows one set of values: where a call that warms has others, both take turns.
    if (!contest_.cold) witness.testify(staged.inputs, signs_[index]);
    return find_timed_fault(witness, staged.problem, outputs,
                            draws_[index].natural ? InputFamily::kExact : InputFamily::kNatural);
  }

  std::optional<Fault> find_wrong_warming(std::size_t index,
                                          const std::vector<OutputView>& outputs) {
    StagedProblem& staged = staged_[index];
    Witness& witness = drawn_.witnesses[index];
    swap_activations(draws_[index].warming, staged.inputs);
    witness.testify(staged.inputs, signs_[index]);
    std::optional<Fault> fault =
        find_timed_fault(witness, staged.problem, outputs, InputFamily::kNatural);
    swap_activations(draws_[index].warming, staged.inputs);
    return fault;
  }

  const Contest& contest_;
  DrawnWeights& drawn_;
  Random& random_;
  CpuStage stage_;
  const bool weights_shared_;
  std::vector<StagedProblem> staged_;
  std::vector<RowSigns> signs_;                               // of the weights in this heat
  std::vector<Draw> draws_;                                   // by problem
  std::array<std::unique_ptr<Arm>, std::size(kRoles)> arms_;  // by role
};

}  // namespace

Samplers cpu_samplers(const Contest& contest, Random& random) {
  const auto drawn = std::make_shared<DrawnWeights>(draw_weights(contest, random));
  return [&contest, drawn](Random& heat_random) {
    return std::make_unique<CpuSampler>(contest, *drawn, heat_random);
  };
}

}  // namespace thresher::referee
