// SPDX-License-Identifier: Apache-2.0
// What is to be cleared away when a process that referees is ended from outside: the processes of
// contestants, the kernel's groups they are held in, and folders. Owners say what they have made
// and what they have taken down.
//
// A signal that can be caught is answered by the process itself (clear_away_for_good). For one that
// cannot there is a caretaker: a second process, told of everything, that sees the end of the first
// at the end of a stream and clears away what was left. Should it have been killed as well, folders
// and groups carry a lock that died with their owner, and whoever referees next takes them down
// (scratch.hpp, cage.hpp).
#pragma once

#include <cstdint>
#include <string>

namespace thresher::referee {

enum class Leftover : std::uint8_t {
  kCage,    // the folder of a cgroup
  kSeat,    // that of the referee's own
  kGroup,   // a process group, by its number
  kFolder,  // with everything in it
};

void remember(Leftover kind, const std::string& name);
void forget(Leftover kind, const std::string& name);

// Kills, then removes. The last thing a process does: whoever wants to remember or forget anything
// from now on waits for an end that is near.
void clear_away_for_good();

// From the first thing that is remembered on, the running program's command `caretaker` watches.
// For programs that have such a command.
void keep_caretaker();

// The caretaker's whole life: returns when the stream on `fd` has ended and all is cleared away.
void take_care(int fd);

}  // namespace thresher::referee
