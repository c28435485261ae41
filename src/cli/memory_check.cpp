// SPDX-License-Identifier: Apache-2.0
#include "cli/memory_check.hpp"

#include "measure/cold_copies.hpp"
#include "measure/memory_need.hpp"

namespace thresher::cli {
namespace {

constexpr double kInputCopiesOfAMatch = 2;
constexpr double kPackedCopiesOfAMatch = 3;  // two arms at least, and the witness

double match_bytes(const Problem& problem) {
  return kInputCopiesOfAMatch * measure::input_bytes(problem) +
         kPackedCopiesOfAMatch * measure::packed_bytes(problem) + measure::output_bytes(problem);
}

void check_problem_fits(const Problem& problem, double packed_count, double output_count,
                        double usable_bytes) {
  measure::check_fits(problem,
                      measure::input_bytes(problem) +
                          packed_count * measure::packed_bytes(problem) +
                          output_count * measure::output_bytes(problem),
                      usable_bytes);
}

}  // namespace

void check_problems_fit(const std::vector<SelectedProblem>& problems, std::size_t packed_count,
                        std::size_t output_count) {
  const double usable = measure::usable_memory_bytes();
  for (const SelectedProblem& one : problems) {
    check_problem_fits(one.problem, static_cast<double>(packed_count),
                       static_cast<double>(output_count), usable);
  }
}

void check_cold_problems_fit(const std::vector<SelectedProblem>& problems, const Backend& backend) {
  const double usable = measure::usable_memory_bytes();
  for (const SelectedProblem& one : problems) {
    const auto bytes = static_cast<std::size_t>(measure::packed_bytes(one.problem));
    const double count =
        backend.checks.host_copies * static_cast<double>(measure::cold_copy_count(bytes));
    check_problem_fits(one.problem, count, 1, usable);
  }
}

void check_match_fits(const Suite& suite) {
  const double usable = measure::usable_memory_bytes();
  double sum = 0;
  const Problem* largest = nullptr;
  for (const Problem& problem : suite.problems) {
    sum += match_bytes(problem);
    if (largest == nullptr || match_bytes(problem) > match_bytes(*largest)) largest = &problem;
  }
  // All are held at once; the one to leave out is the largest.
  if (largest != nullptr) measure::check_fits(*largest, sum, usable);
}

}  // namespace thresher::cli
