// SPDX-License-Identifier: Apache-2.0
// How many threads contestants of a match get where nobody says: as many as there are cores that
// nobody else keeps busy. Threads that wait for each other are as slow as the one that shares its
// core, and such matches end undecided.
#pragma once

namespace thresher::cli {

// `asked` if it is not 0. Looks at the machine for half a second otherwise, and says so on standard
// error if that takes cores away.
int contestant_threads(int asked);

}  // namespace thresher::cli
