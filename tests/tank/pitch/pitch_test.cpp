// SPDX-License-Identifier: Apache-2.0
// Every complaint of the pitch reader: its text, its place, and that docs/pitches.md has it.
#include "tank/pitch/pitch.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "digest/sha256.hpp"
#include "engine/backends.hpp"
#include "nvfp4/error_message.hpp"
#include "tank/scratch_folder.hpp"
#include "tank/season/season.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;
using testing::ScratchFolder;
using Faults = std::vector<std::string>;

// A pitch whose line `key` is `line`, which stands first, at 1:1; an empty line leaves it out.
std::string with(std::string_view key, std::string_view line,
                 std::string_view contestant = "knobs = {stages = 8}") {
  constexpr std::pair<std::string_view, std::string_view> kLines[] = {
      {"name", "name = \"p\""},
      {"suite", "suite = \"seeds\""},
      {"mechanism", "mechanism = \"because\""},
      {"claim", "claim = 1.2"}};
  std::string text = fmt::format("{}\n", line);
  for (const auto& [line_key, default_line] : kLines) {
    if (line_key != key) text += fmt::format("{}\n", default_line);
  }
  if (key != "contestant") text += fmt::format("[contestant]\n{}\n", contestant);
  return text;
}

// Likewise with these lines of [contestant], of which the first is line 7.
std::string with_contestant(std::string_view lines) { return with("", "", lines); }

struct Complaint {
  std::string toml;
  std::string place;  // line:column
  std::string text;
};

std::vector<Complaint> complaints_about_parts() {
  const std::string missing_claim =
      "the pitch has no claim; a predicted speedup is what the verdict is compared with, such as "
      "1.2 or {low = 1.1, high = 1.3}";
  return {
      {with("name", ""), "1:1",
       "the pitch has no name; it identifies the pitch in ledger and report, and names its file"},
      {with("suite", ""), "1:1",
       "the pitch has no suite; it says which problems the claim is about"},
      {with("mechanism", ""), "1:1",
       "the pitch has no mechanism; it says why the contestant should be faster, so that a judge "
       "can doubt it"},
      {with("mechanism", "mechanism = ' '"), "1:13",
       "mechanism is empty; it says why the contestant should be faster, so that a judge can doubt "
       "it"},
      {with("claim", ""), "1:1", missing_claim},
      {with("claim", "claim_by_problem = {g8_n4096_k7168 = 2}"), "1:1", missing_claim},
      {with("contestant", ""), "1:1",
       "the pitch has no [contestant]; it says what to run: knobs, variant, source or command"},
      {with("", "speed = 3"), "1:1",
       "unknown key \"speed\"; a pitch has name, title, author, suite, backend, family, claim, "
       "claim_by_problem, mechanism, bottleneck, evidence, risk, complexity, rollback, "
       "new_evidence, needs, contestant"},
      {with("", "calim = 2"), "1:1",
       "unknown key \"calim\"; a pitch has name, title, author, suite, backend, family, claim, "
       "claim_by_problem, mechanism, bottleneck, evidence, risk, complexity, rollback, "
       "new_evidence, needs, contestant; did you mean 'claim'?"},
      {with("name", "name = \"two words\""), "1:8",
       "\"two words\" is not a name; 1 to 64 letters, digits, '_', '-' and '.' are allowed"},
      {with("name", "name = 7"), "1:8", "name is an integer; a string is allowed"},
      {with("", "title = \"a\\nb\""), "1:9",
       "title has a control character; one line of text is allowed"},
      {with("mechanism", "mechanism = \"a\\u001bb\""), "1:13",
       "mechanism has a control character; text in lines is allowed"},
      {with("", "backend = \"tpu\""), "1:11", "backend = \"tpu\" is none of cpu, gpu, gpu_sm100"},
      {with("", "risk = \"none\""), "1:8", "risk = \"none\" is none of low, medium, high"},
      {with("suite", "suite = \"sedes\""), "1:9",
       "unknown suite 'sedes'; give the path of a .toml file or one of decode, dual, dual_wide, "
       "edges, experts, models, seeds, small, tank, tank_cpu, tank_gpu; did you mean 'seeds'?"},
      {std::string(kPitchBytesMax + 1, ' '), "1:1", "the file has more than 65536 bytes"},
      {"#" + std::string(5000, '.'), "1:1", "the file has more than 4096 dots"},
  };
}

std::vector<Complaint> complaints_about_claims() {
  return {
      {with("claim", "claim = \"fast\""), "1:9",
       "claim is a string; a number or a table with value, low and high is allowed"},
      {with("claim", "claim = 0"), "1:9",
       "claim = 0 is no speedup; a number above 0 and up to 1000000 is allowed"},
      {with("claim", "claim = {low = -1.5, high = 2}"), "1:16",
       "claim.low = -1.5 is no speedup; a number above 0 and up to 1000000 is allowed"},
      {with("claim", "claim = {low = true, high = 2}"), "1:16",
       "claim.low is a boolean; a number is allowed"},
      {with("claim", "claim = {low = 1.5}"), "1:9",
       "claim has neither a value nor both low and high"},
      {with("claim", "claim = {value = 2, low = 1, high = 1.8}"), "1:9",
       "claim has low = 1, value = 2, high = 1.8; low <= value <= high is allowed"},
      {with("claim", "claim = {value = 2, best = 3}"), "1:21",
       "unknown key \"best\"; a claim has value, low, high"},
      {with("", "claim_by_problem = 3"), "1:20",
       "claim_by_problem is an integer; a table with one claim per problem is allowed"},
      {with("", "claim_by_problem = {g9 = 2}"), "1:21",
       "\"g9\" is no problem of suite seeds; it has g8_n4096_k7168, g8_n7168_k2048, "
       "g2_n3072_k4096, g2_n4096_k1536"},
      {with("", "claim_by_problem = {g2_n4096_k1536 = inf}"), "1:38",
       "the claim of \"g2_n4096_k1536\" = inf is no speedup; a number above 0 and up to 1000000 is "
       "allowed"},
  };
}

std::vector<Complaint> complaints_about_contestants() {
  const std::string one_of = "exactly one of knobs, variant, source, command says what to run";
  return {
      {with("contestant", "contestant = 3"), "1:14",
       "contestant is an integer; a table with one of knobs, variant, source, command is allowed"},
      {with_contestant(""), "6:1", "the contestant has nothing; " + one_of},
      {with_contestant("knobs = {}\nsource = \"a.c\""), "6:1",
       "the contestant has knobs and source; " + one_of},
      {with_contestant("knobs = {}\nthreads = 2"), "8:1",
       "unknown key \"threads\"; a contestant has knobs, variant, source, command, launch, "
       "prepare, workspace_bytes, packed_bytes"},
      {with_contestant("knobs = 16"), "7:9",
       "knobs is an integer; a table such as {stages = 16} is allowed"},
      {with_contestant("knobs = {stages = true}"), "7:19",
       "knob \"stages\" is a boolean; an integer or a string is allowed"},
      {with_contestant("knobs = {stages = 65}"), "7:10", "stages = '65' is not 0 to 64"},
      {with_contestant("knobs = {speed = 11}"), "7:10",
       "unknown knob 'speed'; knobs are decode, tile, chunk, stages, task, schedule, dual, store, "
       "roles"},
      {with_contestant("variant = \"cpu_sse\""), "7:11",
       "unknown variant 'cpu_sse'; variants begin with one of cpu_portable, cpu_avx2, cpu_avx512, "
       "cpu_avx512vnni, cpu_amx"},
      {with_contestant("source = \"a.py\""), "7:10",
       "source = \"a.py\" ends in none of .c, .cpp, .cc, .so, .cu; other programs enter as a "
       "command"},
      {with_contestant("command = \"python3\""), "7:11",
       "command is a string; an array of 1 to 64 strings such as [\"python3\", \"mine.py\"] is "
       "allowed"},
      {with_contestant("command = []"), "7:11",
       "command is empty; an array of 1 to 64 strings such as [\"python3\", \"mine.py\"] is "
       "allowed"},
      {with_contestant("command = [\"a\", 2]"), "7:17",
       "a word of command is an integer; a string is allowed"},
      {with_contestant("command = [\"\"]"), "7:12",
       "command starts with an empty word; the program is needed there"},
  };
}

// Likewise for a GPU, where the first line of [contestant] is line 7 as well.
std::string with_gpu(std::string_view lines) { return with("", "backend = \"gpu\"", lines); }

std::vector<Complaint> complaints_about_gpu_contestants() {
  const std::string cuda = "source = \"a.cu\"\n";
  const std::string launch = cuda + "[[contestant.launch]]\n";
  return {
      {with_gpu("knobs = {rows = 64}"), "7:10", "rows = '64' is not 128, 192 or 256"},
      {with_gpu("knobs = {decode = \"panel\"}"), "7:10",
       "unknown knob 'decode'; knobs are kernel, tokens, widths, rows, warpgroups, stages, steps, "
       "roles, "
       "store, schedule, split_k, blocks, arrive, prologue, loads, launches, graph, dual"},
      {with_gpu("variant = \"cpu_avx2\""), "7:11", "variant \"cpu_avx2\" is none of backend gpu"},
      {with_gpu("variant = \"gpu_sm70\""), "7:11",
       "unknown variant 'gpu_sm70'; variants of a GPU begin with gpu_sm90, gpu_sm80 or gpu_sm100"},
      {with_contestant(launch + "kernel = \"f\"\ngrid = 1\nblock = 1"), "7:10",
       "source = \"a.cu\" needs backend = \"gpu\""},
      {with_gpu(cuda), "6:1", "a CUDA source needs at least one launch: kernel, grid and block"},
      {with_gpu(cuda + "launch = 3"), "8:10",
       "launch is an integer; [[contestant.launch]] tables with kernel, grid and block are "
       "allowed"},
      {with_gpu(launch + "kernel = \"f\"\nblock = 1"), "8:1", "the launch has no grid"},
      {with_gpu(launch + "kernel = \"f\"\ngrid = 1\nblock = 1\nthreads = 2"), "12:1",
       "unknown key \"threads\"; a launch has kernel, grid, block, cluster, shared_bytes"},
      {with_gpu(launch + "kernel = \"f\"\ngrid = true\nblock = 1"), "10:8",
       "grid is a boolean; an integer or a string such as \"ceil_div(n, 128) * groups\" is "
       "allowed"},
      {with_gpu(launch + "kernel = \"f\"\ngrid = [1, -2]\nblock = 1"), "10:12",
       "grid = -2 is negative"},
      {with_gpu("knobs = {}\nworkspace_bytes = 16"), "8:19",
       "workspace_bytes belongs to a source that ends in .cu"},
  };
}

std::vector<Complaint> all_complaints() {
  std::vector<Complaint> all = complaints_about_parts();
  for (const auto& more : {complaints_about_claims(), complaints_about_contestants(),
                           complaints_about_gpu_contestants()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Pitch, ComplainsWithPlaceAndReason) {
  for (const Complaint& complaint : all_complaints()) {
    EXPECT_EQ(pitch_faults(complaint.toml, "x.toml"),
              Faults{fmt::format("x.toml:{}: {}", complaint.place, complaint.text)});
  }
}

TEST(Pitch, DocumentsEveryComplaint) {
  const std::string text = text_of_file(THRESHER_SOURCE_DIR "/docs/pitches.md");
  for (const Complaint& complaint : all_complaints()) {
    EXPECT_NE(text.find(fmt::format("`{}`", complaint.text)), std::string::npos) << complaint.text;
  }
}

// Whether a row of docs/pitches.md names the pitch, its suite and all that it turns.
bool has_row(const std::string& document, const Pitch& pitch) {
  const std::string start = fmt::format("| `{}` | {} | ", pitch.name, pitch.suite);
  for (std::size_t at = document.find(start); at != std::string::npos;
       at = document.find(start, at + 1)) {
    const std::string row = document.substr(at, document.find('\n', at) - at);
    const auto is_named = [&](const auto& knob) {
      return row.find(fmt::format("{} = {}", knob.first, knob.second)) != std::string::npos;
    };
    if (std::all_of(pitch.knobs.begin(), pitch.knobs.end(), is_named)) return true;
  }
  return false;
}

TEST(Pitch, TheDocumentListsWhatIsShipped) {
  const std::string document = text_of_file(THRESHER_SOURCE_DIR "/docs/pitches.md");
  for (const char* folder : {THRESHER_SOURCE_DIR "/pitches", THRESHER_SOURCE_DIR "/pitches/gpu",
                             THRESHER_SOURCE_DIR "/pitches/more"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".toml") continue;
      const Pitch pitch = load_pitch(entry.path());
      const bool turns_knobs = pitch.contestant.kind == ContestantKind::kVariant;
      EXPECT_TRUE(!turns_knobs || has_row(document, pitch)) << entry.path();
    }
  }
}

TEST(Pitch, ListsAllFaultsInTheOrderOfTheirPlaces) {
  const char* toml =
      "risk = 1\nname = \"p\"\nclaim = -1\nsuite = \"seeds\"\n[contestant]\nknobs = 3";
  EXPECT_EQ(pitch_faults(toml, "x.toml"),
            (Faults{"x.toml:1:1: the pitch has no mechanism; it says why the contestant should be "
                    "faster, so that a judge can doubt it",
                    "x.toml:1:8: risk is an integer; a string is allowed",
                    "x.toml:3:9: claim = -1 is no speedup; a number above 0 and up to 1000000 is "
                    "allowed",
                    "x.toml:6:9: knobs is an integer; a table such as {stages = 16} is allowed"}));
  EXPECT_EQ(error_message([&] { parse_pitch(toml, "x.toml"); }),
            pitch_faults(toml, "x.toml").front());
}

TEST(Pitch, SaysWhereTomlEnds) {
  const Faults faults = pitch_faults("name = \"p\"\nclaim = = 2\n", "x.toml");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_TRUE(faults[0].starts_with("x.toml:2:9: ")) << faults[0];
}

TEST(Pitch, TheLeastThereCanBe) {
  const Pitch pitch = parse_pitch(with("", ""), "x.toml");
  EXPECT_EQ(pitch.name, "p");
  EXPECT_EQ(pitch.title, "p");
  EXPECT_EQ(pitch.family, "p");
  EXPECT_EQ(pitch.backend, "cpu");
  EXPECT_EQ(pitch.risk, Level::kMedium);
  EXPECT_EQ(pitch.claim.low, 1.2);
  EXPECT_EQ(pitch.claim.value, 1.2);
  EXPECT_EQ(pitch.claim.high, 1.2);
  EXPECT_EQ(pitch.contestant.kind, ContestantKind::kVariant);
  EXPECT_EQ(pitch.contestant.variant, "");
  EXPECT_EQ(pitch.knobs, (std::map<std::string, std::string>{{"stages", "8"}}));
}

TEST(Pitch, ClaimsAsPeopleWriteThem) {
  const auto claim = [](const char* text) {
    return parse_pitch(with("claim", text), "x.toml").claim;
  };
  const Claim range = claim("claim = {low = 1.0, high = 4}");
  EXPECT_EQ(range.low, 1);
  EXPECT_DOUBLE_EQ(range.value, 2) << "the geometric middle";
  EXPECT_EQ(range.high, 4);
  EXPECT_EQ(claim("claim = {low = 1.1, high = 1.1}").value, 1.1) << "rounding stays inside";
  EXPECT_EQ(claim("claim = {value = 1.5, low = 1.2}").high, 1.5);
  const Claim derived = claim(
      "claim_by_problem = {g8_n4096_k7168 = 2, g8_n7168_k2048 = {low = 2, high = 8}, "
      "g2_n3072_k4096 = 2, g2_n4096_k1536 = 2}");
  EXPECT_DOUBLE_EQ(derived.low, 2);
  EXPECT_DOUBLE_EQ(derived.value, std::pow(2, 1.25));
  EXPECT_DOUBLE_EQ(derived.high, std::pow(2, 1.5));
}

TEST(Pitch, ContestantsOfEveryForm) {
  const auto pitch = [](const char* lines) {
    return parse_pitch(with_contestant(lines), "x.toml");
  };
  const Pitch variant = pitch("variant = \"cpu_avx2:store=plain,decode=direct\"");
  EXPECT_EQ(variant.contestant.kind, ContestantKind::kVariant);
  EXPECT_EQ(variant.contestant.variant, "cpu_avx2:decode=direct");
  EXPECT_EQ(variant.contestant.name, "cpu_avx2:decode=direct");
  const Pitch source = pitch("source = \"mine.c\"");
  EXPECT_EQ(source.contestant.kind, ContestantKind::kLibrary);
  EXPECT_EQ(source.contestant.source, "mine.c");
  EXPECT_EQ(source.contestant.name, "p");
  const Pitch command = pitch("command = [\"python3\", \"mine.py\"]");
  EXPECT_EQ(command.contestant.kind, ContestantKind::kCommand);
  EXPECT_EQ(command.contestant.command, (std::vector<std::string>{"python3", "mine.py"}));
  EXPECT_TRUE(pitch("knobs = {}").knobs.empty()) << "a control";
}

TEST(Pitch, KnobsOfOtherBackendsAreTheirs) {
  const Pitch pitch =
      parse_pitch(with("", "backend = \"gpu_sm100\"", "knobs = {tile = \"64x128x256\"}"), "x.toml");
  EXPECT_EQ(pitch.knobs.at("tile"), "64x128x256");
}

TEST(Pitch, KnobsOfTheGpuAreChecked) {
  const Pitch pitch =
      parse_pitch(with_gpu("knobs = {kernel = \"pipelined\", stages = 4}"), "x.toml");
  EXPECT_EQ(pitch.backend, "gpu");
  EXPECT_EQ(pitch.contestant.backend, "gpu");
  EXPECT_EQ(pitch.knobs.at("stages"), "4");
  const Contestant contestant = contestant_against(pitch, baseline(backend_named("gpu")));
  EXPECT_EQ(contestant.variant, "gpu_sm90:launches=per_group,dual=two_pass");
  EXPECT_EQ(contestant.name, contestant.variant);
  EXPECT_EQ(contestant.backend, "gpu");
  EXPECT_NE(error_message([&] { contestant_against(pitch, baseline(backend_named("cpu"))); }), "");
}

TEST(Pitch, VariantsOfTheGpuHaveOneName) {
  const Pitch pitch =
      parse_pitch(with_gpu("variant = \"gpu_sm90:store=staged,tokens=64\""), "x.toml");
  EXPECT_EQ(pitch.contestant.variant, "gpu_sm90:tokens=64,store=staged");
}

TEST(Pitch, CudaSourcesSayHowTheyAreLaunched) {
  const Pitch pitch = parse_pitch(with_gpu("source = \"mine.cu\"\n"
                                           "workspace_bytes = \"m_sum * k * 2\"\n"
                                           "packed_bytes = 4096\n"
                                           "[[contestant.prepare]]\n"
                                           "kernel = \"repack\"\ngrid = \"groups\"\nblock = 256\n"
                                           "[[contestant.launch]]\n"
                                           "kernel = \"gemm\"\n"
                                           "grid = [\"ceil_div(n, 128)\", \"groups\"]\n"
                                           "block = [32, 4]\nshared_bytes = 65536"),
                                  "x.toml");
  EXPECT_EQ(pitch.contestant.kind, ContestantKind::kCuda);
  const CudaLaunches& launches = pitch.contestant.launches;
  EXPECT_EQ(launches.workspace_bytes, "m_sum * k * 2");
  EXPECT_EQ(launches.packed_bytes, "4096");
  EXPECT_EQ(launches.prepare,
            (std::vector<CudaLaunch>{{.kernel = "repack", .grid = {"groups"}, .block = {"256"}}}));
  EXPECT_EQ(launches.launches, (std::vector<CudaLaunch>{{.kernel = "gemm",
                                                         .grid = {"ceil_div(n, 128)", "groups"},
                                                         .block = {"32", "4"},
                                                         .shared_bytes = "65536"}}));
}

TEST(Pitch, CommandsOfTheGpuAreItsOwn) {
  EXPECT_EQ(parse_pitch(with_gpu("command = [\"true\"]"), "x.toml").contestant.backend, "gpu");
  EXPECT_EQ(parse_pitch(with_contestant("command = [\"true\"]"), "x.toml").contestant.backend,
            "cpu");
}

class PitchFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const char* name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  ScratchFolder folder_;
};

TEST_F(PitchFile, HasTheFolderForItsPaths) {
  write("mine.c", "");
  write("suite.toml", "name = \"s\"\n[[problem]]\nname = \"a\"\nm = 1\nn = 1\nk = 16\n");
  const std::string text = with("suite", "suite = \"suite.toml\"", "source = \"mine.c\"");
  const Pitch pitch = load_pitch(write("p.toml", text));
  EXPECT_EQ(pitch.contestant.folder, folder_.path());
  EXPECT_EQ(pitch.suite, (folder_ / "suite.toml").string());
  EXPECT_EQ(pitch.source_text, text);
}

TEST_F(PitchFile, NamesWhatIsNotThere) {
  const std::filesystem::path path = write("q.toml", with_contestant("source = \"mine.c\""));
  EXPECT_EQ(pitch_file_faults(path),
            (Faults{path.string() + ":2:8: the pitch is called \"p\" and its file \"q.toml\"; they "
                                    "must be called the same",
                    path.string() + ":7:10: there is no file \"mine.c\" beside the pitch"}));
  EXPECT_EQ(error_message([&] { load_pitch(path); }), pitch_file_faults(path).front());
}

TEST_F(PitchFile, SaysWhyItCannotBeRead) {
  const std::string missing = (folder_ / "p.toml").string();
  EXPECT_EQ(error_message([&] { load_pitch(missing); }),
            "cannot read pitch '" + missing + "': No such file or directory");
  EXPECT_EQ(error_message([&] { load_pitch(folder_.path()); }),
            "cannot read pitch '" + folder_.path().string() + "': Is a directory");
}

TEST(Pitch, LaysItsKnobsOverTheChampion) {
  const Contestant champion{.kind = ContestantKind::kVariant,
                            .name = "cpu_avx2:tile=4x16,stages=0",
                            .variant = "cpu_avx2:tile=4x16,stages=0"};
  const Pitch stages = parse_pitch(with_contestant("knobs = {stages = 16}"), "x.toml");
  EXPECT_EQ(contestant_against(stages, champion).variant, "cpu_avx2:tile=4x16,stages=16");
  EXPECT_EQ(contestant_against(stages, champion).name, "cpu_avx2:tile=4x16,stages=16");
  const Pitch control = parse_pitch(with_contestant("knobs = {}"), "x.toml");
  EXPECT_EQ(contestant_against(control, champion).variant, champion.variant);
  const Pitch variant = parse_pitch(with_contestant("variant = \"cpu_portable\""), "x.toml");
  EXPECT_EQ(contestant_against(variant, champion).variant, "cpu_portable");
  const Pitch command = parse_pitch(with_contestant("command = [\"x\"]"), "x.toml");
  EXPECT_EQ(contestant_against(command, champion).kind, ContestantKind::kCommand);

  const Contestant other{.kind = ContestantKind::kCommand, .name = "triton", .command = {"x"}};
  EXPECT_EQ(error_message([&] { contestant_against(stages, other); }),
            "pitch 'p' lays its knobs over the champion's variant, and the champion 'triton' is "
            "none; name a whole variant instead");
}

TEST(Pitch, EntersTheLedgerWhole) {
  const std::string text = with("", "claim_by_problem = {g2_n4096_k1536 = {low = 1, high = 4}}");
  const nlohmann::json entry = pitch_entry(parse_pitch(text, "x.toml"));
  EXPECT_EQ(entry.at("name"), "p");
  EXPECT_EQ(entry.at("claim"), (nlohmann::json{{"value", 1.2}, {"low", 1.2}, {"high", 1.2}}));
  EXPECT_EQ(entry.at("claim_by_problem").at("g2_n4096_k1536").at("high"), 4);
  EXPECT_EQ(entry.at("risk"), "medium");
  EXPECT_EQ(entry.at("contestant").at("kind"), "variant");
  EXPECT_EQ(entry.at("contestant").at("knobs"), (nlohmann::json{{"stages", "8"}}));
  EXPECT_EQ(entry.at("text"), text);
  EXPECT_EQ(entry.at("hash"), sha256_hex(text));
  for (const char* key : {"title", "author", "family", "suite", "complexity", "mechanism",
                          "bottleneck", "evidence", "rollback"}) {
    EXPECT_TRUE(entry.contains(key)) << key;
  }
}

}  // namespace
}  // namespace thresher
