// SPDX-License-Identifier: Apache-2.0
// Parts that show entries as they stand: constraints, what others reported, and what the season was
// played on.
#include <fmt/format.h>

#include <vector>

#include "report/season.hpp"
#include "report/values.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

Html constraint_html(const LedgerEntry& entry) {
  const Json& data = entry.data;
  HtmlFacts facts;
  facts.add("Claim", text_of(data, "claim"));
  facts.add("Kind", text_of(data, "kind"));
  facts.add("Vetoes", text_of(data, "predicate"));
  facts.add("Origin", text_of(data, "origin"));
  facts.add("Expires", text_of(data, "expires"));
  facts.add("Source", source_badge(entry.source));
  return fold(element("strong", text_of(data, "id")), facts.html());
}

// "7 × 0.40 + 9 × 0.25", in the order of names.
std::string sum_of(const Json& data) {
  std::vector<std::string> terms;
  for (const auto& item : field(data, "scores").items()) {
    const Json& weight = field(field(data, "weights"), item.key().c_str());
    terms.push_back(fmt::format("{} {} × {}", item.key(), text_of(item.value()), text_of(weight)));
  }
  return fmt::format("{}", fmt::join(terms, " + "));
}

HtmlTable sheet_table(const Season& season) {
  HtmlTable table("Score sheets, added up again", {{"Round", true},
                                                   {"Shark"},
                                                   {"Pitch"},
                                                   {"Scores"},
                                                   {"On the sheet", true},
                                                   {"Recomputed", true},
                                                   {"Sum"},
                                                   {"Source"}});
  for (const LedgerEntry* entry : season.of_kind("sheet")) {
    const Json& data = entry->data;
    const bool is_wrong = field(data, "wrong") == true;
    table.add_row(
        {round_cell(*entry), text_of(data, "shark"), text_of(data, "pitch"), sum_of(data),
         number(field(data, "total_on_sheet"), 2), number(field(data, "total_recomputed"), 2),
         is_wrong ? badge("wrong", "bad") : badge("right", "good"), source_badge(entry->source)});
  }
  return table;
}

HtmlTable time_table(const Season& season) {
  HtmlTable table("Times as reported",
                  {{"Round", true}, {"What"}, {"Problem"}, {"Time (µs)", true}, {"Source"}});
  for (const LedgerEntry* entry : season.of_kind("time")) {
    const Json& data = entry->data;
    table.add_row({round_cell(*entry), text_of(data, "what"), text_of(data, "problem"),
                   number(field(data, "microseconds"), 1), source_badge(entry->source)});
  }
  return table;
}

// How a value of a season's start is told. A name that ends in a dot stands for all below it, and
// the rest of their names for # in the words; a value with a unit is divided by it.
struct FactWords {
  std::string_view name;
  std::string_view words;
  double unit = 0;
  int decimals = 0;
  std::string_view behind = {};
};

constexpr double kKib = 1024;
constexpr double kMib = 1024 * kKib;
constexpr double kGib = 1024 * kMib;

constexpr FactWords kFactWords[] = {
    {"suite", "Suite"},
    {"backend", "Backend"},
    {"threads", "Threads of each contestant"},
    {"seed", "Seed of the draws"},
    {"seconds", "Time for all of it", 1, 0, " s"},
    {"champion", "First champion"},
    {"champion_hash", "Its hash"},
    {"terms.confidence", "Confidence of a verdict", 0.01, 0, " %"},
    {"terms.speedup_min", "Speedup asked for", 1, 3, "x"},
    {"terms.regression_max", "A problem may take longer by", 0.01, 1, " %"},
    {"terms.spread_max", "Heats may spread more by", 0.01, 1, " %"},
    {"terms.tail_max", "Slow calls may look longer by", 0.01, 1, " %"},
    {"rubric.name", "Rubric of the sharks"},
    {"rubric.weights.", "Weight of #", 0.01, 0, " %"},
    {"environment.cpu", "CPU"},
    {"environment.cores", "Cores"},
    {"environment.device", "GPU"},
    {"environment.architecture", "Architecture"},
    {"environment.driver", "Driver"},
    {"environment.compiler", "Compiler of kernels"},
    {"environment.version", "Version of the program"},
    {"environment.suite_argument", "Suite as it was named"},
    {"environment.gpu.sm_count", "SMs"},
    {"environment.gpu.shared_bytes_per_block", "Shared memory of a block", kKib, 0, " KiB"},
    {"environment.gpu.shared_bytes_per_sm", "Shared memory of an SM", kKib, 0, " KiB"},
    {"environment.l2_bytes", "L2 cache", kMib, 0, " MiB"},
    {"environment.memory_bytes", "Memory", kGib, 0, " GiB"},
    {"environment.rates.read_gb_per_s", "Ceiling of reading memory", 1, 0, " GB/s"},
    {"environment.rates.bf16_gop_per_s", "Ceiling of arithmetic, bf16", 1000, 2, " Top/s"},
    {"environment.rates.fp16_gop_per_s", "Ceiling of arithmetic, fp16", 1000, 2, " Top/s"},
    {"environment.rates.nvfp4_gop_per_s", "Ceiling of arithmetic, NVFP4", 1000, 2, " Top/s"},
    {"environment.champion_us.", "First champion on #", 1, 1, " µs"},
};

// What nobody has words for here is shown as it stands.
void add_fact(HtmlFacts& facts, const std::string& name, const Json& value) {
  const std::optional<double> measured = number_of(value);
  for (const FactWords& row : kFactWords) {
    const bool stands_for_all = row.name.ends_with('.') && name.starts_with(row.name);
    if (name != row.name && !stands_for_all) continue;
    std::string words(row.words);
    if (const std::size_t at = words.find('#'); at != std::string::npos) {
      words.replace(at, 1, name.substr(row.name.size()));
    }
    if (!measured || row.unit == 0) return facts.add(words, text_of(value));
    const std::string shown =
        fmt::format("{:.{}f}{}", *measured / row.unit, row.decimals, row.behind);
    return facts.add(words, element("data", shown, {{"value", text_of(value)}}));
  }
  facts.add(name, text_of(value));
}

constexpr int kDepthMax = 8;  // of nested objects; deeper ones stay JSON

// One fact per value, nested names joined by dots: "environment.rates.read_gb_per_s".
void add_facts(HtmlFacts& facts, const std::string& name, const Json& value, int depth = 0) {
  if (!value.is_object() || value.empty() || depth == kDepthMax) {
    return add_fact(facts, name, value);
  }
  for (const auto& item : value.items()) {
    add_facts(facts, fmt::format("{}.{}", name, item.key()), item.value(), depth + 1);
  }
}

}  // namespace

Html constraints(const Season& season) {
  const std::vector<const LedgerEntry*> entries = season.of_kind("constraint");
  Html content;
  for (const LedgerEntry* entry : entries) content += constraint_html(*entry);
  return fold(fmt::format("Constraints that were learned ({})", entries.size()), content);
}

Html documents(const Season& season) {
  return fold("What was reported: score sheets and times",
              sheet_table(season).html() + time_table(season).html());
}

Html environment(const Season& season) {
  const LedgerEntry* start = season.start();
  if (start == nullptr) return note("The ledger does not say how this season started.");
  HtmlFacts facts;
  facts.add("Started (UTC)", start->time_utc);
  facts.add("Source", source_badge(start->source));
  for (const char* name : {"environment", "suite", "backend", "threads", "seconds", "seed", "terms",
                           "rubric", "champion", "champion_hash"}) {
    if (!field(start->data, name).is_null()) add_facts(facts, name, field(start->data, name));
  }
  return fold("Machine, rules and terms", facts.html());
}

}  // namespace thresher::report
