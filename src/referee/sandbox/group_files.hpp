// SPDX-License-Identifier: Apache-2.0
// The kernel's groups are folders, and what they do stands in small files.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "referee/sandbox/scratch.hpp"

namespace thresher::referee {

// In one write, which is what the kernel takes; errno says why not.
inline bool put(const std::filesystem::path& file, std::string_view text) {
  const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace thresher::referee
