// SPDX-License-Identifier: Apache-2.0
#include "referee/gates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "referee/stage/cases.hpp"
#include "referee/stage/outputs.hpp"
#include "referee/timing/arm.hpp"
#include "referee/venue.hpp"

namespace thresher::referee {
namespace {

using measure::Witness;

// The oracle looks at all of the hidden problems that are small, which most are, by itself.
constexpr double kOracleStepsMax = 1 << 23;

std::vector<Problem> problems_of(const std::vector<Case>& cases) {
  std::vector<Problem> problems;
  for (const Case& one : cases) {
    problems.push_back(one.problem);
    if (one.hidden) problems.push_back(made_coarse(one.problem));
  }
  return problems;
}

class Gates {
 public:
  Gates(const Job& job, const std::vector<Case>& cases, const GateOptions& options)
      : options_(options),
        cases_(cases),
        random_(Random::secret(options.seed)),
        entered_(venue_of(job.backend)
                     .make_staged_arm(job, problems_of(cases), options.arm, random_.next())),
        stage_(*entered_.stage),
        arm_(*entered_.arm) {}

  GateResult pass() {
    std::future<Inputs> drawn = draw(0);
    GateResult result{.fault = arm_.start()};
    for (std::size_t i = 0; i < cases_.size() && !result.fault; ++i) {
      Inputs inputs = drawn.get();
      drawn = draw(i + 1);
      result.fault = Clock::now() < options_.deadline
                         ? pass(cases_[i], cases_[i].problem, std::move(inputs))
                         : Fault{VerdictKind::kUnclear, check::kTime, "no time left to check it"};
      if (i == 0 && !result.fault) options_.log("smoke: runs and is right");
    }
    if (!result.fault) result.fault = arm_.find_late_write();
    result.refusals = arm_.refusals();
    return result;
  }

 private:
  // While the contestant starts, or the case before is checked: large weights take long.
  std::future<Inputs> draw(std::size_t case_index) {
    if (case_index >= cases_.size()) return {};
    return std::async(std::launch::async, [&one = cases_[case_index], seed = random_.next()] {
      return make_inputs(one.problem, one.family, seed);
    });
  }

  std::optional<Fault> pass(const Case& one, const Problem& problem, Inputs inputs) {
    stage_.clear();
    StagedProblem staged = stage_.put(problem, std::move(inputs));
    Witness witness(*options_.arm.engine, problem, staged.inputs,
                    {.seed = random_.next(), .oracle_steps_max = kOracleStepsMax});
    std::optional<Fault> fault = arm_.prepare(staged);
    if (fault && fault->check == check::kDeclined && one.hidden) {
      const Problem coarse = made_coarse(problem);
      if (coarse.groups != problem.groups) {
        return pass(one, coarse, make_inputs(coarse, one.family, random_.next()));
      }
    }
    if (!fault) fault = first_call(one, staged, witness);
    if (!fault) fault = same_call_again(one, staged, witness);
    if (!fault) fault = almost_the_same_call(one, staged, witness);
    if (!fault && !stage_.weights_intact(staged)) {
      fault = invalid(check::kInputs, "weights were changed");
    }
    arm_.release(staged);
    return on_problem(problem.name, std::move(fault));
  }

  std::optional<Fault> first_call(const Case& one, const StagedProblem& staged, Witness& witness) {
    witness.testify(staged.inputs);
    return judged(one, staged, witness, {.shape = one.shape},
                  one.hidden ? check::kHiddenShapes : check::kNumerics);
  }

  // The same values at other addresses.
  std::optional<Fault> same_call_again(const Case& one, const StagedProblem& staged,
                                       const Witness& witness) {
    return judged(one, staged, witness, {.shape = one.shape}, check::kReplay);
  }

  // Other values at the same addresses, and only a few of them are other.
  std::optional<Fault> almost_the_same_call(const Case& one, StagedProblem& staged,
                                            Witness& witness) {
    turn_late_blocks(staged.problem, staged.inputs, random_);
    witness.testify(staged.inputs);
    return judged(one, staged, witness, {.shape = one.shape, .same_place = true}, check::kReplay);
  }

  std::optional<Fault> judged(const Case& one, const StagedProblem& staged, const Witness& witness,
                              const CallOptions& call_options, const char* check_name) {
    CallResult result = arm_.call(staged, call_options);
    if (result.fault) return std::move(result.fault);
    return find_wrong_value(witness, staged.problem, result.outputs,
                            rigour_of(staged.problem, one.family), check_name,
                            fmt::format("{} inputs", to_string(one.family)));
  }

  const GateOptions& options_;
  const std::vector<Case>& cases_;
  Random random_;
  const StagedArm entered_;
  Stage& stage_;
  Arm& arm_;
};

}  // namespace

GateResult pass_gates(const Job& job, const Suite& suite, const GateOptions& options) {
  Random random = Random::secret(options.seed, 1);
  std::vector<Case> cases{smoke_case(suite)};
  if (options.scope == Scope::kAll) {
    for (Case& one : correctness_cases(suite, random)) cases.push_back(std::move(one));
  }
  return Gates(job, cases, options).pass();
}

}  // namespace thresher::referee
