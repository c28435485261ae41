// SPDX-License-Identifier: Apache-2.0
// Places where words are said, and one of them left out.
#include "emulator/sites.hpp"

#include <gtest/gtest.h>

#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

constexpr LaunchOptions kSiteWarps{.thread_count = 64, .shared_bytes = 1024};

void say_two_words() {
  if (hw::thread_index() == 0) hw::store_shared(hw::shared_base(), 1u);
  hw::sync_block();
  hw::load_shared<u32>(hw::shared_base());
  hw::sync_warp();
}

std::set<SiteName> sites_of(const std::function<void()>& kernel) {
  const WatchedSites watched;
  launch(kSiteWarps, kernel);
  return watched.said();
}

TEST(Sites, AreWhereTheKernelSaysAWord) {
  const std::set<SiteName> sites = sites_of(say_two_words);
  ASSERT_EQ(sites.size(), 2u);
  const SiteName& first = *sites.begin();
  EXPECT_EQ(first.word, "sync_block");
  EXPECT_EQ(first.function, "say_two_words");
  EXPECT_EQ(first.file, "tests/emulator/sites_test.cpp");
  EXPECT_EQ(std::next(sites.begin())->line, first.line + 2);
}

TEST(Sites, OneIsLeftOut) {
  const std::set<SiteName> sites = sites_of(say_two_words);
  ASSERT_EQ(sites.size(), 2u);
  {
    const WatchedSites watched(*sites.begin());
    EXPECT_FAULT(kSiteWarps, say_two_words, "which ");
  }
  {
    const WatchedSites watched(*sites.rbegin());
    EXPECT_EQ(fault_of(kSiteWarps, say_two_words), "");
  }
  EXPECT_EQ(fault_of(kSiteWarps, say_two_words), "");
}

}  // namespace
}  // namespace thresher::emulator
