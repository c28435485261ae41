// SPDX-License-Identifier: Apache-2.0
// What is to be cleared away when a process that referees is ended from outside: folders, and the
// process groups of contestants. Owners say what they have made and what they have taken down.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace thresher::referee {

void remember_folder(const std::filesystem::path& folder);
void forget_folder(const std::filesystem::path& folder);
void remember_group(pid_t group);
void forget_group(pid_t group);

// Kills the groups and removes the folders. The last thing a process does: whoever wants to
// remember or forget anything from now on waits for an end that is near.
void clear_away_for_good();

}  // namespace thresher::referee
