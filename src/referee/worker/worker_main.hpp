// SPDX-License-Identifier: Apache-2.0
// Our own worker: answers the referee's requests with a variant or a library, on the descriptors
// that every contestant inherits (protocol.hpp).
#pragma once

#include "referee/sandbox/job.hpp"

namespace thresher::referee {

// Returns when the referee says quit or is gone, or says what it should not.
void serve(const Job& job);

}  // namespace thresher::referee
