// SPDX-License-Identifier: Apache-2.0
// The files a contestant is made from: its source and all that it includes by name, read once,
// carefully, and before anybody compiles. What is hashed, what is built and what may be quoted is
// what stands here.
//
// A pitch comes from somebody else and the operator may be root, so no link is followed below the
// folder it lies in, and nothing is read that the user contestants run as might not read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "referee/contestant/contestant.hpp"

namespace thresher::referee {

struct SourceFile {
  std::filesystem::path path;  // absolute, without links
  std::string text;
};

// The source stands first, then what it includes, in the order it is met. Throws Error for a source
// that cannot be read, is no file, a link, or not everybody's to read.
std::vector<SourceFile> read_sources(const Contestant& contestant);

// Copies them into `folder` so that they find each other as they did. Returns where the first is;
// `root` becomes the folder that `folder` stands for.
std::filesystem::path copy_sources(const std::vector<SourceFile>& sources,
                                   const std::filesystem::path& folder,
                                   std::filesystem::path& root);

}  // namespace thresher::referee
