// SPDX-License-Identifier: Apache-2.0
#include "emulator/sites.hpp"

#include <string_view>
#include <utility>

#include "assert.hpp"

namespace thresher::emulator {
namespace {

thread_local WatchedSites* watched_sites = nullptr;

}  // namespace

WatchedSites::WatchedSites(std::optional<SiteName> left_out) : left_out_(std::move(left_out)) {
  THRESHER_ASSERT(watched_sites == nullptr);
  watched_sites = this;
}

WatchedSites::~WatchedSites() { watched_sites = nullptr; }

bool WatchedSites::leaves_out(const gpu::hw::Site& site, const char* word) {
  const auto [known, is_new] = known_.try_emplace({site.file, site.line, word}, false);
  if (is_new) {
    // Compilers name a template's arguments too; the place is the same for all of them.
    const std::string_view function = site.function;
    const SiteName name{site.file, site.line, word,
                        std::string(function.substr(0, function.find('<')))};
    known->second = left_out_ == name;
    said_.insert(name);
  }
  return known->second;
}

}  // namespace thresher::emulator

namespace thresher::gpu::hw {

bool leaves_out(const Site& site, const char* word) {
  emulator::WatchedSites* const watched = emulator::watched_sites;
  return watched != nullptr && watched->leaves_out(site, word);
}

}  // namespace thresher::gpu::hw
