// SPDX-License-Identifier: Apache-2.0
// Cold caches: reads so much else that nothing of a contestant's data is left in them.
#pragma once

#include <cstddef>
#include <span>

namespace thresher::referee {

// Every core this process may use reads twice the last cache; when it returns all are idle again.
void evict_caches();

// Takes these bytes out of all caches of all cores, whoever has them mapped: what several arms
// share, between their calls. Where there is no instruction for it, everything else goes as well.
void flush_lines(std::span<const std::byte> bytes);

}  // namespace thresher::referee
