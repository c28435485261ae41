// SPDX-License-Identifier: Apache-2.0
// The files a contestant is made from: its source and all that it includes by name, read once,
// carefully, and before anybody compiles. What is hashed, what is built and what may be quoted is
// what stands here: whoever wants two of these reads first and gives both the same bytes.
//
// A pitch comes from somebody else and the operator may be root, so no link is followed below the
// folder it lies in, and nothing is read that the user contestants run as might not read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "referee/contestant/contestant.hpp"

namespace thresher::referee {

struct SourceFile {
  std::filesystem::path path;  // absolute, without links
  std::string text;
};

// The source stands first, then what it includes, in the order it is met. Throws Error for a source
// that cannot be read, is no file, a link, or not everybody's to read. None for a contestant that
// has no source.
std::vector<SourceFile> read_sources(const Contestant& contestant);

// contestant_hash() of the contestant as it was read.
std::string hash_as_read(const Contestant& contestant, const std::vector<SourceFile>& sources);

// The bytes of a file that a command names, as far as contestants may read them: the rest cannot
// change what it does, and a hash of it in the ledger would tell of somebody else's file. Links are
// followed, because an interpreter often is one.
std::optional<std::string> read_named_file(const std::filesystem::path& path);

// Copies them into `folder` so that they find each other as they did. Returns where the first is;
// `root` becomes the folder that `folder` stands for.
std::filesystem::path copy_sources(const std::vector<SourceFile>& sources,
                                   const std::filesystem::path& folder,
                                   std::filesystem::path& root);

}  // namespace thresher::referee
