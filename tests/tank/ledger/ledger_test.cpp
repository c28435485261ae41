// SPDX-License-Identifier: Apache-2.0
#include "tank/ledger/ledger.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "digest/sha256.hpp"
#include "nvfp4/error_message.hpp"
#include "tank/raw_sqlite.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

using nlohmann::json;
using nvfp4::error_message;
using testing::raw_sql;
using testing::ScratchFolder;

const std::string kZeros(64, '0');

TEST(Ledger, ReadsBackWhatWasAppended) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  const json data = {{"pitch", "stages"}, {"claim", {{"low", 1.5}, {"high", 1.8}}}, {"log", {"a"}}};
  const LedgerEntry appended = ledger.append("seeds", "pitch", "reported", data);
  EXPECT_EQ(appended.id, 1);
  EXPECT_EQ(appended.data, data);

  const std::vector<LedgerEntry> entries = ledger.entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].id, 1);
  EXPECT_EQ(entries[0].season, "seeds");
  EXPECT_EQ(entries[0].kind, "pitch");
  EXPECT_EQ(entries[0].source, "reported");
  EXPECT_EQ(entries[0].data, data);
  EXPECT_EQ(entries[0].time_utc, appended.time_utc);
  EXPECT_EQ(entries[0].hash, appended.hash);
  EXPECT_TRUE(std::regex_match(entries[0].time_utc,
                               std::regex(R"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ)")))
      << entries[0].time_utc;
}

TEST(Ledger, GoesOnWhereAnotherLeftOff) {
  const ScratchFolder folder;
  const LedgerEntry first = Ledger(folder / "ledger.db").append("s", "k", "measured", {{"n", 1}});
  Ledger ledger(folder / "ledger.db");
  const LedgerEntry second = ledger.append("s", "k", "measured", {{"n", 2}});
  EXPECT_EQ(first.previous_hash, kZeros);
  EXPECT_EQ(second.id, 2);
  EXPECT_EQ(second.previous_hash, first.hash);
  const LedgerAudit audit = ledger.audit();
  EXPECT_TRUE(audit.ok) << audit.first_fault;
  EXPECT_EQ(audit.entry_count, 2);
}

TEST(Ledger, HashesByTheDocumentedFormula) {
  LedgerEntry entry{.id = 7,
                    .time_utc = "2026-04-01T00:00:00.000Z",
                    .season = "a \"season\"",
                    .kind = "match",
                    .source = "measured",
                    .data = {{"z", 0.1}, {"a", json::array({1, true, nullptr, "ü\n"})}},
                    .previous_hash = kZeros};
  EXPECT_EQ(entry_hash(entry),
            sha256_hex("[\"" + kZeros +
                       "\",7,\"2026-04-01T00:00:00.000Z\",\"a \\\"season\\\"\",\"match\","
                       "\"measured\",{\"a\":[1,true,null,\"ü\\n\"],\"z\":0.1}]"));
}

TEST(Ledger, GivesNumbersBackBitForBit) {
  const ScratchFolder folder;
  const json numbers = {0.1,
                        1.0 / 3,
                        -0.0,
                        5e-324,
                        std::numeric_limits<double>::max(),
                        1e15,
                        1e-7,
                        123456789,
                        -1,
                        0,
                        std::numeric_limits<std::int64_t>::min(),
                        1e300,
                        std::numeric_limits<std::uint64_t>::max()};
  Ledger ledger(folder / "ledger.db");
  ledger.append("s", "k", "measured", {{"numbers", numbers}});
  const json read = ledger.entries().at(0).data.at("numbers");
  ASSERT_EQ(read.size(), numbers.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i], numbers[i]);
    EXPECT_EQ(read[i].is_number_float(), numbers[i].is_number_float()) << read[i];
    EXPECT_EQ(std::signbit(read[i].get<double>()), std::signbit(numbers[i].get<double>()));
  }
}

TEST(Ledger, SelectsBySeasonAndKind) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  for (const char* season : {"second", "first", "second"}) {
    for (const char* kind : {"pitch", "match"}) ledger.append(season, kind, "measured", {{"a", 1}});
  }
  const auto ids = [&](const char* season, const char* kind) {
    std::vector<std::int64_t> found;
    for (const LedgerEntry& entry : ledger.entries(season, kind)) found.push_back(entry.id);
    return found;
  };
  using Ids = std::vector<std::int64_t>;
  EXPECT_EQ(ids("", ""), (Ids{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ids("second", ""), (Ids{1, 2, 5, 6}));
  EXPECT_EQ(ids("", "match"), (Ids{2, 4, 6}));
  EXPECT_EQ(ids("first", "match"), (Ids{4}));
  EXPECT_EQ(ids("third", ""), Ids{});
  EXPECT_EQ(ledger.seasons(), (std::vector<std::string>{"second", "first"}));
}

TEST(Ledger, RefusesWhatWouldNotReadBack) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  const auto complaint = [&](const json& data) {
    return error_message([&] { ledger.append("s", "match", "measured", data); });
  };
  EXPECT_EQ(complaint({{"rounds", {{{"b_ns", std::nan("")}}}}}),
            "cannot record the 'match' entry: data.rounds.0.b_ns = nan is not finite");
  EXPECT_EQ(complaint({{"high", std::numeric_limits<double>::infinity()}}),
            "cannot record the 'match' entry: data.high = inf is not finite");
  EXPECT_EQ(complaint({{"log", "\xff\xfe"}}),
            "cannot record the 'match' entry: it holds text that is not UTF-8");
  EXPECT_EQ(complaint({{"b", json::binary({1, 2})}}),
            "cannot record the 'match' entry: data.b holds bytes; write them as text");
  EXPECT_EQ(complaint(json::array({1})), "cannot record the 'match' entry: data is no JSON object");
  EXPECT_EQ(complaint(nullptr), "cannot record the 'match' entry: data is no JSON object");
  json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = json::array({std::move(deep)});
  EXPECT_NE(complaint({{"a", deep}}).find(" is nested deeper than 100"), std::string::npos);
  EXPECT_TRUE(ledger.entries().empty());
}

TEST(Ledger, RefusesEntriesWithoutNamesOrWithAnotherSource) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  const auto complaint = [&](const char* season, const char* kind, const char* source) {
    return error_message([&] { ledger.append(season, kind, source, json::object()); });
  };
  EXPECT_EQ(complaint("", "k", "measured"), "cannot record the 'k' entry: its season has no name");
  EXPECT_EQ(complaint("s", "", "measured"), "cannot record the '' entry: its kind has no name");
  EXPECT_EQ(complaint("s", "k", "guessed"),
            "cannot record the 'k' entry: source = \"guessed\" is neither measured, reported nor "
            "predicted");
  EXPECT_EQ(complaint("\xff", "k", "measured"),
            "cannot record the 'k' entry: it holds text that is not UTF-8");
  EXPECT_EQ(complaint("s", "k", "measured"), "no error");
}

TEST(Ledger, IsAppendOnlyForEverybody) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  ledger.append("s", "k", "measured", {{"a", 1}});
  ledger.append("s", "k", "measured", {{"a", 2}});
  const std::string refused = "the ledger is append-only";
  EXPECT_EQ(raw_sql(folder / "ledger.db", "UPDATE entries SET kind = 'x'"), refused);
  EXPECT_EQ(raw_sql(folder / "ledger.db", "DELETE FROM entries WHERE id = 2"), refused);
  EXPECT_EQ(raw_sql(folder / "ledger.db",
                    "INSERT OR REPLACE INTO entries SELECT id, time_utc, season, 'x', source, "
                    "previous_hash, hash, data FROM entries"),
            refused);
  EXPECT_EQ(raw_sql(folder / "ledger.db",
                    "INSERT INTO entries SELECT 9, time_utc, season, kind, source, "
                    "previous_hash, hash, data FROM entries WHERE id = 1"),
            refused);
  EXPECT_TRUE(ledger.audit().ok);
  EXPECT_EQ(ledger.entries().size(), 2u);
}

TEST(Ledger, MovesAndKnowsItsPath) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  Ledger moved(std::move(ledger));
  EXPECT_EQ(moved.append("s", "k", "measured", json::object()).id, 1);
  EXPECT_EQ(moved.path(), folder / "ledger.db");
}

}  // namespace
}  // namespace thresher
