// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work, several at a time, where a Pool would be too much. Not for anything
// inside a timed window.
#pragma once

#include <cstddef>
#include <functional>

namespace thresher::cpu {

// Calls work(i) for every i below `count` on up to `thread_count` threads, the caller's among them,
// and returns when all are done. If pieces throw, so does this, with one of their exceptions.
void side_by_side(std::size_t count, std::size_t thread_count,
                  const std::function<void(std::size_t)>& work);

// On as many threads as there are cores.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace thresher::cpu
