// SPDX-License-Identifier: Apache-2.0
#include "engine/plan_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "cpu/features.hpp"
#include "engine/backends.hpp"
#include "thresher/engine.hpp"
#include "thresher/error.hpp"
#include "thresher/thresher.h"

namespace thresher {
namespace {

Problem problem_of(std::int64_t tokens_each) {
  return {.name = "p", .groups = {2, {.m = tokens_each, .n = 64, .k = 128}}};
}

MachinePlan sample_machine() {
  return {
      .fingerprint = {.backend = "cpu",
                      .device = cpu::cpu_model(),
                      .machine_class = backend_named("cpu").machine_class(),
                      .thread_count = 2,
                      .version = thresher_version()},
      .entries = {{.of = {.groups = 2, .n = 64, .k = 128},
                   .tokens = 8,
                   .measured = measured_of(problem_of(std::int64_t{4})),
                   .variant = "cpu_portable:stages=8",
                   .choice = Engine().choose(problem_of(std::int64_t{4})),
                   .better = true,
                   .speedup = 1.25,
                   .low = 1.2,
                   .high = 1.3,
                   .reason = "accepted: \"1.25x\"",
                   .story = PlanStory{.space = 900,
                                      .tried = 60,
                                      .choice_us = 81.5,
                                      .trace = {{.seconds = 0.5, .tried = 6, .speedup = 1.1},
                                                {.seconds = 2, .tried = 60, .speedup = 1.26}}}}},
      .unfinished = {{.of = {.op = Op::kDual, .groups = 3, .n = 32, .k = 64},
                      .tokens = 5,
                      .seconds = 1.5,
                      .trials = {{"cpu_portable", 0.5}, {"cpu_amx", 0}},
                      .trace = {{.seconds = 0.7, .tried = 2, .speedup = 1}}}}};
}

PlanFile sample() { return {{sample_machine()}}; }

std::string fault_of(const std::string& text) {
  try {
    plan_file_from_json(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A plan file in the folder of tests, gone with the test.
struct Written {
  explicit Written(const PlanFile& file) { write_plan_file(path, file); }
  ~Written() { std::filesystem::remove(path); }
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("plan_" + std::to_string(getpid()) + ".json");
};

TEST(PlanFile, ComesBackAsItWasWritten) {
  const Written written(sample());
  const PlanFile read = read_plan_file(written.path);
  ASSERT_EQ(read.machines.size(), 1U);
  EXPECT_EQ(read.machines[0].fingerprint, sample_machine().fingerprint);
  ASSERT_EQ(read.machines[0].entries.size(), 1U);
  EXPECT_EQ(read.machines[0].entries[0].story.value().trace.back().tried, 60);
  EXPECT_EQ(to_json(read), to_json(sample()));
}

TEST(PlanFile, SaysWhatIsWrongWithIt) {
  const std::string good = to_json(sample());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return fault_of(text);
  };
  EXPECT_EQ(fault_of("{"), "it is not JSON");
  EXPECT_EQ(fault_of("[]"), "the file is not an object");
  EXPECT_EQ(fault_of("{}"), "the file has no 'thresher_plan'");
  EXPECT_EQ(with("\"thresher_plan\": 3", "\"thresher_plan\": 7"),
            "its format is 7, and this program reads 2 and 3");
  EXPECT_EQ(with("\"tokens\": 8", "\"tokens\": -8"),
            "machine 0: entry 0: it: 'tokens' is not a count from 0 to 2^40");
  EXPECT_EQ(with("\"speedup\": 1.25", "\"speedup\": 0"),
            "machine 0: entry 0: it: 'speedup' is not a number above 0");
  EXPECT_EQ(with("\"better\": true", "\"better\": 1"),
            "machine 0: entry 0: it: 'better' is not true or false");
  EXPECT_EQ(with("\"n\": 64", "\"m\": 64"), "machine 0: entry 0: it has no 'n'");
  EXPECT_EQ(with("\"seconds\": 1.5", "\"seconds\": \"long\""),
            "machine 0: unfinished search 0: it: 'seconds' is not a number above 0");
  EXPECT_EQ(with("\"cpu_portable\": 0.5", "\"cpu_portable\": -1"),
            "machine 0: unfinished search 0: it: the speedup of 'cpu_portable' is not a number "
            "from 0 on");
  EXPECT_NE(with("\"op\": \"gemm\"", "\"op\": \"mul\"").find("machine 0: entry 0: "),
            std::string::npos);
  EXPECT_EQ(with("\"space\": 900", "\"space\": -1"),
            "machine 0: entry 0: its story: 'space' is not a count from 0 to 2^40");
  EXPECT_EQ(with("        4,\n            4\n", "        4,\n            5\n"),
            "machine 0: entry 0: it: 'rows' are not those of 2 groups with 8 tokens together");
  EXPECT_EQ(with("        4,\n            4\n", "        8\n"),
            "machine 0: entry 0: it: 'rows' are not those of 2 groups with 8 tokens together");
  EXPECT_EQ(with("        4,\n            4\n", "        4,\n            -4\n"),
            "machine 0: entry 0: rows of group 1: they are not a count from 0 to 2^40");
  EXPECT_EQ(with("\"machines\"", "\"folk\""), "the file has no 'machines'");
  EXPECT_THROW(read_plan_file("/no/such/plan.json"), Error);
}

// They would reach a terminal that obeys them, and a C text that ends at them.
TEST(PlanFile, HasNoControlCharacters) {
  for (const char* hostile : {"\\u001b[2J", "\\u0000", "\\n", "\\u007f", "\\u009b2J"}) {
    std::string text = to_json(sample());
    const std::string reason = "\"reason\": \"";
    text.insert(text.find(reason) + reason.size(), hostile);
    EXPECT_EQ(fault_of(text),
              "machine 0: entry 0: it: 'reason' has a control character; one line of text is "
              "allowed");
    text = to_json(sample());
    text.insert(text.find("cpu_amx"), hostile);
    EXPECT_EQ(fault_of(text),
              "machine 0: unfinished search 0: it: a variant has a control character in its name");
  }
}

// Files of format 2 name no class of machines, and do not say how an entry's rows lay.
TEST(PlanFile, ReadsTheFormatBefore) {
  PlanFile old = sample();
  old.machines[0].fingerprint.machine_class.clear();
  old.machines[0].entries[0].measured.reset();
  old.machines[0].entries[0].choice = "cpu_portable:stages=4";
  std::string text = to_json(old);
  text.replace(text.find("\"thresher_plan\": 3"), 18, "\"thresher_plan\": 2");
  const Written written(plan_file_from_json(text));
  const Engine engine({.thread_count = 2, .plan_file = written.path});
  EXPECT_EQ(engine.choose(problem_of(4)), "cpu_portable:stages=8") << engine.plan_note();
}

TEST(PlanFile, IsOfEqualGroupsOnly) {
  Problem problem = problem_of(4);
  EXPECT_TRUE(plan_class(problem));
  problem.groups[1].n = 32;
  EXPECT_FALSE(plan_class(problem));
}

TEST(FindEntry, TakesTheNearestWithinAFactorOfTwo) {
  MachinePlan file = sample_machine();
  file.entries.push_back(file.entries[0]);
  file.entries[1].tokens = 64;
  const auto tokens_of = [&](std::int64_t tokens) {
    const PlanEntry* entry = find_entry(file, problem_of(1), tokens);
    return entry == nullptr ? 0 : entry->tokens;
  };
  EXPECT_EQ(tokens_of(8), 8);
  EXPECT_EQ(tokens_of(4), 8);
  EXPECT_EQ(tokens_of(3), 0);
  EXPECT_EQ(tokens_of(16), 8);
  EXPECT_EQ(tokens_of(22), 0) << "between classes, too far from both";
  EXPECT_EQ(tokens_of(33), 64);
  EXPECT_EQ(tokens_of(129), 0);
  EXPECT_EQ(tokens_of(0), 0);
  file.entries[1].tokens = 18;
  EXPECT_EQ(tokens_of(12), 8) << "as near to 18: fewer tokens win";
  std::swap(file.entries[0], file.entries[1]);
  EXPECT_EQ(tokens_of(12), 8) << "whichever stands first";
  Problem other = problem_of(4);
  other.op = Op::kDual;
  EXPECT_EQ(find_entry(file, other, 8), nullptr);
}

TEST(EngineWithAPlan, TakesItsVariantWhereItFits) {
  const Written written(sample());
  const Engine engine({.thread_count = 2, .plan_file = written.path});
  EXPECT_NE(engine.plan_note().find("is used: 1 entries, 1 better than the engine's choice"),
            std::string::npos)
      << engine.plan_note();
  EXPECT_EQ(engine.choose(problem_of(4)), "cpu_portable:stages=8");
  EXPECT_EQ(engine.choose(problem_of(0), 8), "cpu_portable:stages=8");
  EXPECT_THROW(engine.choose(problem_of(4), -1), Error);
  EXPECT_EQ(engine.plan(problem_of(4)).variant(), "cpu_portable:stages=8");
  EXPECT_EQ(engine.plan(problem_of(400)).variant(), Engine().plan(problem_of(400)).variant());
  EXPECT_EQ(engine.plan(problem_of(4), "cpu_portable").variant(), "cpu_portable")
      << "who asks, gets";
}

TEST(EngineWithAPlan, KeepsItsChoiceWhereNothingWasBetter) {
  PlanFile file = sample();
  file.machines[0].entries[0].better = false;
  const Written written(file);
  const Engine engine({.thread_count = 2, .plan_file = written.path});
  EXPECT_EQ(engine.plan(problem_of(4)).variant(), Engine().plan(problem_of(4)).variant());
}

TEST(EngineWithAPlan, LeavesAForeignOneUnusedAndSaysWhy) {
  const Written written(sample());
  const Engine engine({.thread_count = 1, .plan_file = written.path});
  EXPECT_NE(engine.plan_note().find("is not used: it is of thread count 2, and this is 1"),
            std::string::npos)
      << engine.plan_note();
  EXPECT_NE(engine.plan(problem_of(4)).variant(), "cpu_portable:stages=8");
}

TEST(EngineWithAPlan, FindsItselfAmongOtherMachines) {
  PlanFile file = sample();
  file.machines.insert(file.machines.begin(), sample_machine());
  file.machines[0].fingerprint.device = "abacus";
  file.machines[0].entries[0].variant = "beads:wings=2";
  machine_in(file, {.backend = "gpu", .device = "loom", .version = "0"});
  const Written written(file);
  const Engine engine({.thread_count = 2, .plan_file = written.path});
  EXPECT_EQ(engine.choose(problem_of(4)), "cpu_portable:stages=8");
  const Engine other({.thread_count = 1, .plan_file = written.path});
  EXPECT_NE(other.plan_note().find("is not used: it is of device abacus, and this is "),
            std::string::npos)
      << other.plan_note();
  EXPECT_NE(other.plan_note().find("; it is of backend gpu, and this is cpu"), std::string::npos)
      << other.plan_note();
}

// A processor that is sold with two clocks is two machines.
TEST(EngineWithAPlan, LeavesOneOfAnotherClassUnused) {
  PlanFile file = sample();
  file.machines[0].fingerprint.machine_class = cpu::cpu_model() + ", up to 9.00 GHz";
  file.machines.push_back(sample_machine());
  file.machines[1].entries[0].variant = "cpu_portable:stages=4";
  {
    const Written written(file);
    const Engine engine({.thread_count = 2, .plan_file = written.path});
    EXPECT_EQ(engine.choose(problem_of(4)), "cpu_portable:stages=4") << engine.plan_note();
  }
  file.machines.pop_back();
  const Written written(file);
  const Engine engine({.thread_count = 2, .plan_file = written.path});
  EXPECT_NE(engine.plan_note().find("is not used: it is of class "), std::string::npos)
      << engine.plan_note();
}

// The file is of this machine and version, and the program another all the same: one in
// development, or one whose rule was mended.
TEST(EngineWithAPlan, LeavesOutWhatDoesNotHoldAnyMore) {
  PlanFile file = sample();
  std::vector<PlanEntry>& entries = file.machines[0].entries;
  entries.insert(entries.begin(), entries[0]);
  entries[0].variant = "cpu_portable:wings=2";
  {
    const Written written(file);
    const Engine engine({.thread_count = 2, .plan_file = written.path});
    EXPECT_NE(engine.plan_note().find("is used: 1 entries, 1 better than the engine's choice; 1 "
                                      "left out, entry 0: "),
              std::string::npos)
        << engine.plan_note();
    EXPECT_NE(engine.plan_note().find("wings"), std::string::npos) << engine.plan_note();
    EXPECT_EQ(engine.choose(problem_of(4)), "cpu_portable:stages=8");
  }
  entries[1].choice = "cpu_portable:stages=4";
  const Written written(file);
  const Engine engine({.thread_count = 2, .plan_file = written.path});
  const std::string choice = Engine().choose(problem_of(4));
  EXPECT_NE(engine.plan_note().find("is used: 0 entries, 0 better than the engine's choice; 2 left "
                                    "out, the first of them entry 0: "),
            std::string::npos)
      << engine.plan_note();
  EXPECT_EQ(engine.choose(problem_of(4)), choice);
  EXPECT_EQ(why_not_entry(entries[1], engine.state()),
            "it was compared with cpu_portable:stages=4, and the engine's choice is " + choice +
                " by now");
}

}  // namespace
}  // namespace thresher
