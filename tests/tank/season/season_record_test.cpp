// SPDX-License-Identifier: Apache-2.0
#include "tank/season/season_record.hpp"

#include <gtest/gtest.h>

namespace thresher {
namespace {

TEST(SeasonRecord, KeepsFoldersInsideTheCurrentOneWithoutIt) {
  const std::filesystem::path here = std::filesystem::current_path();
  EXPECT_EQ(recorded_folder(here / "pitches/gpu"), "pitches/gpu");
  EXPECT_EQ(recorded_folder(here), ".");
  EXPECT_EQ(recorded_folder({}), "");
  EXPECT_EQ(recorded_folder("/elsewhere/pitches"), "/elsewhere/pitches");
  EXPECT_EQ(recorded_folder(here.parent_path() / "beside"),
            (here.parent_path() / "beside").string());
}

TEST(SeasonRecord, ContestantsFindTheirFolderAgain) {
  for (const std::filesystem::path& folder :
       {std::filesystem::current_path() / "pitches", std::filesystem::path("/elsewhere/pitches"),
        std::filesystem::path()}) {
    const Contestant contestant{
        .kind = ContestantKind::kLibrary, .name = "mine", .source = "mine.c", .folder = folder};
    EXPECT_EQ(contestant_from_json(contestant_to_json(contestant)).folder, folder);
  }
}

}  // namespace
}  // namespace thresher
