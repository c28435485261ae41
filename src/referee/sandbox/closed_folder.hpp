// SPDX-License-Identifier: Apache-2.0
// Under root contestants run as a user who owns nothing, and a folder above what they are to read
// or run may keep that user out.
#pragma once

#include <filesystem>
#include <string>

namespace thresher::referee {

// The first folder above `path`, from the root on, that is not everybody's to enter; empty: none.
std::filesystem::path closed_folder_above(const std::filesystem::path& path);

// Who may not enter which folder and what to do about it, to stand behind "cannot read PATH: ".
// Empty where no folder is in the way.
std::string why_kept_out(const std::filesystem::path& path);

}  // namespace thresher::referee
