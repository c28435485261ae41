// SPDX-License-Identifier: Apache-2.0
// Cold caches: reads so much else that nothing of a contestant's data is left in them.
#pragma once

namespace thresher::referee {

// Every core this process may use reads twice the last cache; when it returns all are idle again.
void evict_caches();

}  // namespace thresher::referee
