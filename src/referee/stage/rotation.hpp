// SPDX-License-Identifier: Apache-2.0
// How a timed batch on a GPU goes round. Its calls take turns at copies of the weights, so many
// that none is in the cache when its turn comes again, and there are enough calls for the device's
// clock.
#pragma once

#include <cstddef>
#include <vector>

#include "gemm/inputs.hpp"
#include "gemm/random.hpp"
#include "thresher/problem.hpp"

namespace thresher::referee {

inline constexpr int kCallsPerBatchMax = 32;

struct Rotation {
  int copy_count = 1;  // of the weights
  int call_count = 1;  // of a batch; call i takes copy i % copy_count

  bool operator==(const Rotation&) const = default;
};

// `cold`: copies together exceed twice the L2, as far as kCallsPerBatchMax allows. Otherwise there
// is one copy, and all calls but the first find it as warm as the cache can keep it.
Rotation rotation_for(const Problem& problem, double floor_ns, std::size_t l2_bytes, bool cold);

// The signs of random rows of all weights turned: other weights, of which no result can be used
// again, for far less than drawing them anew.
void turn_rows(const Problem& problem, Inputs& inputs, Random& random);

// The activations, alphas and global scales of all groups, without weights.
Inputs activations_of(const Inputs& inputs);
// Puts them in the place of those that `inputs` has.
void put_activations(Inputs activations, Inputs& inputs);

// How many calls of each of `batch_count` batches are to be looked at, so that whoever is wrong in
// one call of every batch escapes with a probability below kEscapeShareMax.
//
// The last call is always looked at, so that one is an earlier one: of N - 1 calls, k - 1 of which
// are drawn without replacement and by nobody's rule but chance. A batch is survived with
// (N - k) / (N - 1), all of them with that to the power of their number.
inline constexpr double kEscapeShareMax = 1e-3;
int inspected_count_for(int call_count, int batch_count);

// Calls of a batch to be looked at completely, in ascending order: the last one, which has had the
// least time to be finished, and others that nobody can foresee.
std::vector<int> draw_inspected(int call_count, int inspected_count, Random& random);

}  // namespace thresher::referee
