// SPDX-License-Identifier: Apache-2.0
// Places in kernels where a word is said that orders something: their names, those that the sources
// have, and those that a document lists with a reason why the word may be left out there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "emulator/sites.hpp"

namespace thresher::emulated::testing {

using emulator::SiteName;

// "sm90/gemm.cuh, produce: sync_named"; the second of its kind in a function ends in " (2)".
std::map<SiteName, std::string> names_of(const std::set<SiteName>& sites);

// Words of the vocabulary that take a Site, said in the kernels' sources where no site was.
std::vector<std::string> never_said(const std::string& source_folder,
                                    const std::set<SiteName>& said);

// Words that cannot be left out, because they take no Site, though their PTX orders something.
std::vector<std::string> words_without_sites(const std::string& source_folder);

// The first two columns of a table that begins behind the line "<!-- mutations -->": the reasons by
// name.
std::map<std::string, std::string> reasons_in(const std::string& document);

}  // namespace thresher::emulated::testing
