// SPDX-License-Identifier: Apache-2.0
// The places where kernels say words that order something, as launches come by them, and one of
// them at which the word is left out: a mutation of the kernel without compiling it again.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "gpu/hw/emulated_site.hpp"

namespace thresher::emulator {

struct SiteName {
  std::string file;
  int line = 0;
  std::string word;
  std::string function;

  auto operator<=>(const SiteName&) const = default;
};

// While one of these is there, launches of this thread of the operating system are watched.
class WatchedSites {
 public:
  explicit WatchedSites(std::optional<SiteName> left_out = std::nullopt);
  ~WatchedSites();
  WatchedSites(const WatchedSites&) = delete;
  WatchedSites& operator=(const WatchedSites&) = delete;

  // Words said so far, the one left out included.
  const std::set<SiteName>& said() const { return said_; }

  // Whether the word is to be left out.
  bool leaves_out(const gpu::hw::Site& site, const char* word);

 private:
  std::optional<SiteName> left_out_;
  std::set<SiteName> said_;
  // Whether it is, by where the literals lie: words are said millions of times.
  std::map<std::tuple<const char*, int, const char*>, bool> known_;
};

}  // namespace thresher::emulator
