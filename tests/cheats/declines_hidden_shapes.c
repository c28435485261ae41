/* SPDX-License-Identifier: Apache-2.0 */
/* Declines every shape but those of the suite. Catalogue 20. */
#include "honest.h"

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  if (problem->groups[0].n == 48 && problem->groups[0].k == 128) {
    return honest_prepare(problem, state, message);
  }
  *message = "not one of mine";
  return THRESHER_CONTESTANT_UNSUPPORTED;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  return honest_run(state, calls);
}
