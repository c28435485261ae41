// SPDX-License-Identifier: Apache-2.0
#include "tune/workshop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <limits>

#include "thresher/error.hpp"

namespace thresher::tune {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
using Names = std::vector<std::string>;

TEST(Workshop, OnAShelfEverythingIsReadyInItsOrder) {
  const std::unique_ptr<Workshop> shelf = open_shelf(3);
  EXPECT_EQ(shelf->capacity(), 3U);
  for (const char* name : {"a", "b", "c"}) shelf->begin(name);
  EXPECT_EQ(shelf->take(2, 0), Names({"a", "b"}));
  EXPECT_EQ(shelf->take(2, kForever), Names({"c"}));
  EXPECT_EQ(shelf->take(2, kForever), Names());
}

// Whose makers wait until they are let go.
struct Closed {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  std::function<void(const std::string&)> make = [this](const std::string& variant) {
    if (variant != "quick") opened.wait();
  };
};

TEST(Workshop, WhoIsReadyFirstIsTakenFirst) {
  Closed closed;
  const std::unique_ptr<Workshop> workshop = open_workshop(2, 5, closed.make);
  EXPECT_EQ(workshop->capacity(), 7U);
  workshop->begin("slow");
  workshop->begin("quick");
  EXPECT_EQ(workshop->take(1, kForever), Names({"quick"}));
  EXPECT_EQ(workshop->take(1, 0.01), Names()) << "its time is over, and nobody is ready";
  closed.gate.set_value();
  EXPECT_EQ(workshop->take(5, kForever), Names({"slow"})) << "no more are in the making";
}

TEST(Workshop, ThoseThatAreReadyWaitInThatOrder) {
  const std::unique_ptr<Workshop> workshop = open_workshop(1, 5, [](const std::string&) {});
  for (const char* name : {"a", "b", "c"}) workshop->begin(name);
  EXPECT_EQ(workshop->take(3, kForever), Names({"a", "b", "c"}));
}

TEST(Workshop, MakesAsManyAtATimeAsItHasThreads) {
  std::atomic<int> at_work = 0;
  std::promise<void> all_at_work;
  std::shared_future<void> met = all_at_work.get_future().share();
  const std::unique_ptr<Workshop> workshop = open_workshop(3, 0, [&](const std::string&) {
    if (++at_work == 3) all_at_work.set_value();
    met.wait();
  });
  for (const char* name : {"a", "b", "c"}) workshop->begin(name);
  EXPECT_EQ(workshop->take(3, kForever).size(), 3U);
}

TEST(Workshop, WhatCannotBeMadeIsTakenAllTheSame) {
  const std::unique_ptr<Workshop> workshop =
      open_workshop(1, 1, [](const std::string&) { throw Error("it does not compile"); });
  workshop->begin("broken");
  EXPECT_EQ(workshop->take(1, kForever), Names({"broken"}));
}

TEST(Workshop, ClosingDropsWhatWasNotBegun) {
  std::atomic<int> made_count = 0;
  std::promise<void> begun;
  std::promise<void> gate;
  std::unique_ptr<Workshop> workshop = open_workshop(1, 9, [&](const std::string&) {
    if (made_count++ > 0) return;
    begun.set_value();
    gate.get_future().wait();
  });
  for (int i = 0; i < 10; ++i) workshop->begin(std::to_string(i));
  begun.get_future().wait();
  std::future<void> closing = std::async(std::launch::async, [&] { workshop.reset(); });
  EXPECT_EQ(closing.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout)
      << "what is in the making is waited for";
  gate.set_value();
  closing.wait();
  EXPECT_EQ(made_count, 1);
}

}  // namespace
}  // namespace thresher::tune
