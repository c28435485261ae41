// SPDX-License-Identifier: Apache-2.0
// Where the referee itself sits among the kernel's groups of version 2.
//
// A controller limits the groups below one that holds no processes, and the referee is in the very
// group that its contestants' are made in. If nobody else is there, as in a group that was made for
// it and given to its operator, it moves to a group beside theirs, its seat, and controllers can be
// had. What others have put there is left where it is.
#pragma once

#include <filesystem>
#include <string>

namespace thresher::referee {

// The group that contestants' are made in, of a process in `own`: beside its seat, if it has one.
std::filesystem::path group_around_seat(const std::filesystem::path& own);

// For the groups below `group`, which this process is in; it takes a seat where that helps. Returns
// why the controller cannot be had; empty: it can.
std::string enable_controller(const std::filesystem::path& group, const std::string& controller);

// What an operator can do who may not make groups, or is not alone in his own.
std::string group_advice();

// Back to the group around it, where controllers end. False: somebody else still sits there.
bool leave_seat(const std::filesystem::path& seat);

}  // namespace thresher::referee
