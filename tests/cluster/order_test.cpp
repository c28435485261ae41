// SPDX-License-Identifier: Apache-2.0
#include "cluster/order.hpp"

#include <gtest/gtest.h>

#include "nvfp4/error_message.hpp"
#include "tank/fake_season.hpp"

namespace thresher::cluster {
namespace {

using nvfp4::error_message;

MatchOrder small_order() {
  MatchOrder order{.id = "1-deeper-0123",
                   .match = {.champion = testing::fake_champion(),
                             .challenger = {.kind = ContestantKind::kLibrary,
                                            .name = "mine",
                                            .source = "mine.c",
                                            .folder = "/elsewhere/pitches"},
                             .suite = testing::fake_suite(),
                             .terms = {.speedup_min = 1.03}},
                   .machine_class = "a machine"};
  order.match.options.thread_count = 3;
  order.match.options.seconds_max = 12.5;
  order.match.options.analysis = {.heats_min = 4, .heats_max = 16, .heats_more = 7};
  order.match.options.confinement.hidden = {"/secret"};
  order.match.options.earlier.problems = {"one", "two"};
  order.match.options.earlier.heats.resize(2);
  return order;
}

TEST(Order, ReadsBackAsItWasWritten) {
  const nlohmann::json json = order_to_json(small_order());
  const MatchOrder back = order_from_json(nlohmann::json::parse(json.dump()));
  EXPECT_EQ(order_to_json(back), json);
  EXPECT_EQ(back.match.challenger.folder, "/elsewhere/pitches");
  EXPECT_EQ(back.match.options.analysis.heats_more, 7);
  EXPECT_EQ(back.match.options.earlier.heats.size(), 2u);
  EXPECT_EQ(back.match.suite.problems[1].groups, testing::fake_suite().problems[1].groups);
  EXPECT_EQ(back.machine_class, "a machine");
}

TEST(Order, ThatLacksSomethingIsRefused) {
  for (const char* key : {"id", "champion", "suite", "terms", "options", "class"}) {
    nlohmann::json json = order_to_json(small_order());
    json.erase(key);
    EXPECT_NE(error_message([&] { order_from_json(json); }).find(key), std::string::npos) << key;
  }
  nlohmann::json json = order_to_json(small_order());
  json["suite"]["problems"][0]["groups"][0][2] = 17;
  EXPECT_NE(error_message([&] { order_from_json(json); }).find("multiple of 16"),
            std::string::npos);
}

TEST(Order, ARecordReadsBackAsItWasWritten) {
  testing::FakeMachine machine;
  const nlohmann::json json = record_to_json(machine.judge(small_order().match));
  EXPECT_EQ(record_to_json(record_from_json(nlohmann::json::parse(json.dump()))), json);
  EXPECT_NE(error_message([&] { record_from_json(nlohmann::json::object()); }).find("verdict"),
            std::string::npos);
}

}  // namespace
}  // namespace thresher::cluster
