// SPDX-License-Identifier: Apache-2.0
// A coordinator and a queue that loses, delays and repeats tasks. slurm_season.py has the real one.
#include "cluster/coordinator.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "nvfp4/error_message.hpp"
#include "tank/scratch_folder.hpp"
#include "thresher/error.hpp"

namespace thresher::cluster {
namespace {

using nvfp4::error_message;
using testing::ScratchFolder;

// A cluster whose nodes carry orders out when the queue is looked at.
struct FakeCluster {
  const ScratchFolder folder;
  std::vector<ArrayJob> submitted;
  std::vector<QueuedTask> queue;
  std::map<std::string, int> losses;  // by id: so many tasks end without a record
  std::map<std::string, int> played;  // by id
  std::vector<std::string> cancelled;
  int silent_looks = 0;
  bool works = true;
  std::string reported;

  Spool spool() const { return Spool(folder / "spool"); }

  JobQueue jobs() {
    return {.submit = [this](const ArrayJob& array) { return submit(array); },
            .look = [this](const std::string&) { return look(); },
            .cancel = [this](const std::string& job) { cancelled.push_back(job); },
            .cancel_all = [this](const std::string& name) { cancelled.push_back(name); },
            .tasks_per_array_max = 3};
  }

  std::optional<std::string> submit(const ArrayJob& array) {
    if (!array.excluded_nodes.empty() && array.excluded_nodes.front() == "only") {
      throw Error("no such node configuration");
    }
    submitted.push_back(array);
    for (int i = 0; i < array.task_count; ++i) {
      queue.push_back({.comment = array.comment,
                       .index = i,
                       .job = fmt::format("{}_{}", submitted.size(), i),
                       .state = "RUNNING",
                       .node = fmt::format("n{}", submitted.size())});
    }
    return fmt::format("{}", submitted.size());
  }

  // Everybody shows once, and is gone at the next look.
  std::optional<std::vector<QueuedTask>> look() {
    if (silent_looks > 0) {
      --silent_looks;
      return std::nullopt;
    }
    std::vector<QueuedTask> seen = std::move(queue);
    queue.clear();
    if (!works) return seen;
    for (const QueuedTask& task : seen) {
      const std::string id = spool().id_of_task(task.comment, task.index);
      if (losses[id]-- > 0) {
        spool().put_failure(id, {task.node, "the disk is full"});
      } else {
        ++played[id];
        spool().put_record(id, {{"id", id}, {"node", task.node}});
      }
    }
    return seen;
  }

  CoordinatorOptions options() {
    return {.name = "fake",
            .command = {"task"},
            .report = [this](const std::string& text) { reported += text; },
            .poll_seconds = 0,
            .look_seconds = 0};
  }
};

std::vector<TaskOrder> orders_of(std::initializer_list<const char*> ids) {
  std::vector<TaskOrder> orders;
  for (const char* id : ids) orders.push_back({.id = id, .order = {{"id", id}}});
  return orders;
}

std::vector<std::string> results_of(FakeCluster& fake, const std::vector<TaskOrder>& orders) {
  std::vector<std::string> results;
  Coordinator coordinator(fake.spool(), fake.jobs(), fake.options());
  coordinator.play(orders, [&](std::size_t index, const TaskResult& result) {
    EXPECT_EQ(index, results.size()) << "not in the order of the orders";
    results.push_back(result.failure.empty() ? result.record.at("id").get<std::string>()
                                             : result.failure);
  });
  return results;
}

TEST(Coordinator, CutsOrdersIntoArraysAndHandsOverInOrder) {
  FakeCluster fake;
  EXPECT_EQ(results_of(fake, orders_of({"c", "a", "d", "b"})),
            (std::vector<std::string>{"c", "a", "d", "b"}));
  ASSERT_EQ(fake.submitted.size(), 2u);
  EXPECT_EQ(fake.submitted[0].task_count, 3);
  EXPECT_EQ(fake.submitted[1].task_count, 1);
  EXPECT_EQ(fake.submitted[1].command, (std::vector<std::string>{"task", "000001"}));
}

TEST(Coordinator, WhatIsLostIsPlayedAgainElsewhere) {
  FakeCluster fake;
  fake.losses = {{"b", 2}};
  EXPECT_EQ(results_of(fake, orders_of({"a", "b"})), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(fake.submitted.size(), 3u);
  EXPECT_EQ(fake.submitted[1].task_count, 1) << "what is there is not asked for again";
  EXPECT_EQ(fake.submitted[1].excluded_nodes, std::vector<std::string>{"n1"});
  EXPECT_EQ(fake.submitted[2].excluded_nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(fake.played["a"], 1);
}

TEST(Coordinator, WhatIsLostEverywhereIsGivenUpWithAReason) {
  FakeCluster fake;
  fake.losses = {{"a", 100}};
  EXPECT_EQ(results_of(fake, orders_of({"a"})),
            std::vector<std::string>{"no record after 3 tries; node n3: the disk is full"});
  EXPECT_EQ(fake.submitted.size(), 3u);
}

TEST(Coordinator, TheLastWordsOfATaskAreHeard) {
  FakeCluster fake;
  fake.works = false;
  const Spool spool = fake.spool();
  for (const char* log : {"1_0.txt", "2_0.txt", "3_0.txt"}) {
    std::ofstream(spool.logs() / log) << "one\nexec: thresher: not \x1b found\n";
  }
  const std::vector<std::string> results = results_of(fake, orders_of({"a"}));
  EXPECT_NE(results.at(0).find("on node n3 ended with the words: exec: thresher: not"),
            std::string::npos)
      << results.at(0);
}

// A node on which a task dies at once is free again before anybody looks at the queue, and takes
// the next one too.
TEST(Coordinator, ANodeWhereTasksDieAtOnceIsNotAskedAgain) {
  FakeCluster fake;
  fake.works = false;
  const Spool spool = fake.spool();
  for (const char* name : {"1", "2", "3"}) {
    std::ofstream(spool.logs() / (name + std::string("_0.txt")))
        << "on node bad" << name << "\nexec: thresher: not found\non node $(reboot)\n";
  }
  const std::vector<std::string> results = results_of(fake, orders_of({"a"}));
  EXPECT_NE(results.at(0).find("on node bad3 ended"), std::string::npos) << results.at(0);
  ASSERT_EQ(fake.submitted.size(), 3u);
  EXPECT_EQ(fake.submitted[1].excluded_nodes, std::vector<std::string>{"bad1"});
}

TEST(Coordinator, TheNextOneWaitsForWhatIsUnderWay) {
  FakeCluster fake;
  Spool spool = fake.spool();
  for (const TaskOrder& order : orders_of({"a", "b", "c"})) spool.put_order(order.id, order.order);
  spool.put_record("a", {{"id", "a"}});
  // Killed after the array was submitted, before its number was written down.
  const std::string list = spool.put_list({"a", "b"});
  fake.queue = {{.comment = list, .index = 1, .job = "9_1", .state = "RUNNING", .node = "n7"}};
  EXPECT_EQ(results_of(fake, orders_of({"a", "b", "c"})),
            (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_EQ(fake.submitted.size(), 1u);
  EXPECT_EQ(fake.submitted[0].task_count, 1) << "only c was nowhere";
  EXPECT_EQ(fake.played["b"], 1);
}

TEST(Coordinator, AControllerThatIsAwayLosesNothing) {
  FakeCluster fake;
  fake.silent_looks = 5;
  EXPECT_EQ(results_of(fake, orders_of({"a"})), std::vector<std::string>{"a"});
  EXPECT_EQ(fake.submitted.size(), 1u);
  EXPECT_NE(fake.reported.find("'thresher doctor --on slurm' says what is missing"),
            std::string::npos)
      << fake.reported;
}

TEST(Coordinator, HeldTasksAreTakenOutAndPlayedAgain) {
  FakeCluster fake;
  const std::string list = fake.spool().put_list({"a"});
  fake.spool().set_job(list, "9");
  fake.works = false;
  int looks = 0;
  JobQueue queue = fake.jobs();
  queue.look = [&](const std::string& name) -> std::optional<std::vector<QueuedTask>> {
    fake.works = ++looks > 1;
    if (looks > 1) return fake.look();
    static_cast<void>(name);
    return {{{.comment = list,
              .index = 0,
              .job = "9_0",
              .state = "PENDING",
              .reason = "launch failed requeued held"}}};
  };
  Coordinator coordinator(fake.spool(), queue, fake.options());
  int taken = 0;
  coordinator.play(orders_of({"a"}), [&](std::size_t, const TaskResult& result) {
    EXPECT_TRUE(result.failure.empty()) << result.failure;
    ++taken;
  });
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(fake.cancelled, std::vector<std::string>{"9_0"});
  coordinator.finish();
  EXPECT_EQ(fake.cancelled.back(), "fake");
}

TEST(Coordinator, WithoutAnotherNodeTheSameOneIsAsked) {
  FakeCluster fake;
  fake.spool().put_failure("a", {"only", "the disk is full"});
  fake.losses = {{"a", 1}};
  EXPECT_EQ(results_of(fake, orders_of({"a"})).size(), 1u);
  EXPECT_TRUE(fake.submitted.back().excluded_nodes.empty() ||
              fake.submitted.back().excluded_nodes.front() != "only");
}

// Of four nodes one is of the class that is wanted; refusing is no try.
TEST(Coordinator, NodesOfOtherClassesAreNotAskedAgain) {
  FakeCluster fake;
  JobQueue queue = fake.jobs();
  queue.look = [&](const std::string&) -> std::optional<std::vector<QueuedTask>> {
    for (const QueuedTask& task : std::exchange(fake.queue, {})) {
      const std::string id = fake.spool().id_of_task(task.comment, task.index);
      EXPECT_EQ(fake.spool().order(id).at("classes"), std::vector<std::string>{"h200"});
      if (fake.submitted.size() < 5) {
        fake.spool().put_failure(id, {task.node, "it is of another class", {"h200"}});
      } else {
        fake.spool().put_record(id, {{"id", id}});
      }
    }
    return std::vector<QueuedTask>();
  };
  std::vector<TaskOrder> orders = orders_of({"a"});
  orders[0].classes = {"h200"};
  Coordinator coordinator(fake.spool(), queue, fake.options());
  std::string failure = "none was taken";
  const auto take = [&](std::size_t, const TaskResult& result) { failure = result.failure; };
  coordinator.play(orders, take);
  EXPECT_EQ(failure, "");
  ASSERT_EQ(fake.submitted.size(), 5u) << "four refused, which is more than there are tries";
  EXPECT_EQ(fake.submitted.back().excluded_nodes,
            (std::vector<std::string>{"n1", "n2", "n3", "n4"}));
  orders[0].id = "b";
  coordinator.play(orders, take);
  EXPECT_EQ(fake.submitted.back().excluded_nodes.size(), 4u) << "they are known by now";
}

TEST(Coordinator, WhereNoNodeIsOfTheClassThatIsSaid) {
  FakeCluster fake;
  std::vector<TaskOrder> orders = orders_of({"a"});
  orders[0].classes = {"h200", "b200"};
  fake.spool().put_failure("z", {"only", "another", orders[0].classes});
  Coordinator coordinator(fake.spool(), fake.jobs(), fake.options());
  const std::string message =
      error_message([&] { coordinator.play(orders, [](std::size_t, const TaskResult&) {}); });
  EXPECT_NE(message.find("no node is of a class called h200 or b200"), std::string::npos)
      << message;
}

TEST(Coordinator, EveryTryThatFailsIsAnnounced) {
  FakeCluster fake;
  fake.losses = {{"a", 1}};
  std::vector<std::string> said;
  CoordinatorOptions options = fake.options();
  options.announce = [&](const std::string& text) { said.push_back(text); };
  Coordinator(fake.spool(), fake.jobs(), options)
      .play(orders_of({"a"}), [](std::size_t, const TaskResult&) {});
  EXPECT_EQ(said, std::vector<std::string>{"a: node n1: the disk is full"});
}

TEST(Coordinator, ARefusalOfSlurmIsTheUsersToMend) {
  FakeCluster fake;
  JobQueue queue = fake.jobs();
  queue.submit = [](const ArrayJob&) -> std::optional<std::string> {
    throw Error("Slurm does not take the matches: invalid partition specified: nowhere");
  };
  Coordinator coordinator(fake.spool(), queue, fake.options());
  const std::string message = error_message(
      [&] { coordinator.play(orders_of({"a"}), [](std::size_t, const TaskResult&) {}); });
  EXPECT_NE(message.find("invalid partition"), std::string::npos) << message;
}

}  // namespace
}  // namespace thresher::cluster
