// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/nvrtc.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "gpu/runtime/temporary_folder.hpp"

namespace thresher::gpu {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

TEST(OpenNvrtc, SaysWhatIsWrong) {
  Nvrtc nvrtc;
  EXPECT_EQ(open_nvrtc("libm.so.6", nvrtc), "libm.so.6 has no nvrtcVersion");
  EXPECT_NE(open_nvrtc("libthresher_no_such.so", nvrtc).find("libthresher_no_such.so"),
            std::string::npos);
}

// With or without NVRTC on this machine: one of the two.
TEST(FindNvrtc, GivesACompilerOrASentence) {
  const NvrtcLookup lookup = find_nvrtc();
  EXPECT_NE(lookup.nvrtc.has_value(), !lookup.why_not.empty());
}

TEST(FindNvrtc, SaysWhyALibraryIsOfNoUse) {
  const TemporaryFolder folder;
  const NvrtcSearch search{.folders = {folder.path()}, .system = false};
  EXPECT_EQ(find_nvrtc(search).why_not,
            "no CUDA compiler: libnvrtc.so not found; install the CUDA toolkit, or 'pip install "
            "nvidia-cuda-nvrtc' (nvidia-cuda-nvrtc-cu12 for a driver of CUDA 12)");
  std::ofstream(folder.path() + "/libnvrtc.so.13") << "not a library";
  const std::string why_not = find_nvrtc(search).why_not;
  EXPECT_EQ(why_not.rfind("no usable CUDA compiler: " + folder.path() + "/libnvrtc.so.13: ", 0), 0U)
      << why_not;
}

TEST(FindNvrtc, RefusesACompilerNewerThanTheDriver) {
  const NvrtcLookup any = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!any.nvrtc.has_value()) GTEST_SKIP() << any.why_not;
  const fs::path folder = fs::path(any.nvrtc->file).parent_path();
  NvrtcSearch search{.folders = {folder.string()}, .system = false, .driver_version = 11080};
  const NvrtcLookup none = find_nvrtc(search);
  ASSERT_FALSE(none.nvrtc.has_value());
  EXPECT_NE(none.why_not.find("newer than the driver's CUDA 11.8; update the driver, or install "
                              "that version's NVRTC"),
            std::string::npos)
      << none.why_not;
  search.driver_version = any.nvrtc->major * 1000;
  EXPECT_TRUE(find_nvrtc(search).nvrtc.has_value());
}

TEST(PipLibraryFolders, KnowsBothLayoutsAndPrefersTheNewer) {
  const TemporaryFolder folder;
  const fs::path packages = fs::path(folder.path()) / "lib/python3.11/site-packages";
  for (const char* name : {"cuda_nvrtc", "cu12", "cu13", "empty"}) {
    fs::create_directories(packages / "nvidia" / name);
  }
  for (const char* name : {"cuda_nvrtc", "cu12", "cu13"}) {
    fs::create_directory(packages / "nvidia" / name / "lib");
  }
  const std::vector<std::string> expected{packages / "nvidia/cu13/lib",
                                          packages / "nvidia/cu12/lib",
                                          packages / "nvidia/cuda_nvrtc/lib"};
  EXPECT_EQ(pip_library_folders(folder.path()), expected);
  EXPECT_EQ(pip_library_folders(packages.string()), expected);
  EXPECT_TRUE(pip_library_folders(folder.path() + "/absent").empty());
}

}  // namespace
}  // namespace thresher::gpu
