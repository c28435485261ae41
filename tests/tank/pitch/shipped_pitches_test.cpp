// SPDX-License-Identifier: Apache-2.0
// The pitches in the binary: those of the source tree, complete, and playable from where they are
// written to.
#include "tank/pitch/shipped_pitches.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "nvfp4/error_message.hpp"
#include "tank/pitch/pitch.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

namespace fs = std::filesystem;
using nvfp4::error_message;
using testing::ScratchFolder;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ShippedPitches, AreThoseOfTheSourceTree) {
  std::set<std::string> in_tree;
  const fs::path root = THRESHER_SOURCE_DIR "/pitches";
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".toml") {
      in_tree.insert(entry.path().lexically_relative(THRESHER_SOURCE_DIR).string());
    }
  }
  std::set<std::string> in_binary;
  for (const ShippedPitch& pitch : shipped_pitches()) {
    const std::string path = pitch.folder + "/" + pitch.name + ".toml";
    in_binary.insert(path);
    EXPECT_EQ(pitch.text, text_of(fs::path(THRESHER_SOURCE_DIR) / path)) << path;
  }
  EXPECT_EQ(in_binary, in_tree);
}

// A pitch that is read from its file finds every file it runs, or it has a fault.
TEST(ShippedPitches, AFolderIsPlayableWhereItIsWritten) {
  for (const char* folder : {"pitches", "pitches/gpu", "pitches/more"}) {
    const ScratchFolder scratch;
    const std::vector<fs::path> files = write_shipped_folder(folder, scratch / "out");
    EXPECT_FALSE(files.empty()) << folder;
    for (const fs::path& file : files) {
      EXPECT_EQ(file.parent_path(), scratch / "out" / folder);
      EXPECT_TRUE(pitch_file_faults(file).empty()) << file;
      const Pitch pitch = load_pitch(file);
      for (const std::string& word : pitch.contestant.command) {
        EXPECT_TRUE(!word.ends_with(".py") || fs::exists(file.parent_path() / word)) << word;
      }
    }
    EXPECT_EQ(write_shipped_folder(folder, scratch / "out"), files) << "again, as when resumed";
  }
}

TEST(ShippedPitches, APitchIsWrittenWithAllThatItRuns) {
  const ScratchFolder scratch;
  for (const ShippedPitch& pitch : shipped_pitches()) {
    const fs::path folder = scratch / pitch.folder.c_str() / pitch.name;
    const std::vector<fs::path> written = write_shipped_pitch(pitch, folder);
    ASSERT_FALSE(written.empty());
    EXPECT_EQ(written.front(), folder / (pitch.name + ".toml"));
    EXPECT_TRUE(pitch_file_faults(written.front()).empty()) << written.front();
    for (const std::string& word : load_pitch(written.front()).contestant.command) {
      EXPECT_TRUE(!word.ends_with(".py") || fs::exists(folder / word)) << pitch.name << word;
    }
  }
  EXPECT_TRUE(fs::exists(scratch / "pitches/skipped_blocks/plain_c.c")) << "named by an #include";
}

TEST(ShippedPitches, AnotherFileIsNotOverwritten) {
  const ScratchFolder scratch;
  const ShippedPitch pitch = shipped_pitches().front();
  write_shipped_pitch(pitch, scratch / "mine");
  write_shipped_pitch(pitch, scratch / "mine");  // the same is fine
  const fs::path file = scratch / "mine" / (pitch.name + ".toml");
  std::ofstream(file) << "mine now";
  EXPECT_EQ(error_message([&] { write_shipped_pitch(pitch, scratch / "mine"); }),
            "'" + file.string() + "' is there already and is another file; name another folder");
  EXPECT_EQ(text_of(file), "mine now");
}

}  // namespace
}  // namespace thresher
