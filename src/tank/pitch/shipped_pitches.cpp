// SPDX-License-Identifier: Apache-2.0
#include "tank/pitch/shipped_pitches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <tuple>

#include "embedded_file.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRoot = "pitches";
constexpr std::string_view kPitchEnding = ".toml";

std::string folder_of(const EmbeddedFile& file) {
  return (fs::path(kRoot) / file.name).parent_path().string();
}

std::string file_name(const EmbeddedFile& file) { return fs::path(file.name).filename().string(); }

bool says(const fs::path& path, std::string_view text) {
  std::ifstream file(path, std::ios::binary);
  return file && std::string(std::istreambuf_iterator<char>(file), {}) == text;
}

// Contestants may run as another user, who has to be able to read it.
void write(const fs::path& path, std::string_view text) {
  if (says(path, text)) return;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) throw Error(fmt::format("cannot write '{}'", path.string()));
  fs::permissions(path,
                  fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read |
                      fs::perms::others_read,
                  error);
}

// A file on its way to another folder.
struct Copy {
  std::string name;
  std::string text;
};

// Puts `text` and what it names, beside it or one folder up, into one folder: its copies name each
// other without a folder.
void add_copies(std::string name, std::string text, const std::string& folder,
                std::vector<Copy>& copies) {
  const std::size_t index = copies.size();
  copies.push_back({std::move(name), ""});
  for (const EmbeddedFile& file : kPitchFiles) {
    const std::string beside = file_name(file);
    if (beside.ends_with(kPitchEnding)) continue;
    const fs::path relative = fs::path(folder_of(file)).lexically_relative(folder) / beside;
    const std::string quoted = '"' + relative.lexically_normal().string() + '"';
    const std::size_t at = text.find(quoted);
    if (at == std::string::npos) continue;
    text.replace(at, quoted.size(), '"' + beside + '"');
    const bool is_new = std::none_of(copies.begin(), copies.end(),
                                     [&](const Copy& copy) { return copy.name == beside; });
    if (is_new) add_copies(beside, std::string(file.text), folder_of(file), copies);
  }
  copies[index].text = std::move(text);
}

}  // namespace

std::vector<ShippedPitch> shipped_pitches() {
  std::vector<ShippedPitch> pitches;
  for (const EmbeddedFile& file : kPitchFiles) {
    if (!file.name.ends_with(kPitchEnding)) continue;
    pitches.push_back({fs::path(file.name).stem().string(), folder_of(file), file.text});
  }
  std::sort(pitches.begin(), pitches.end(), [](const ShippedPitch& a, const ShippedPitch& b) {
    return std::tie(a.folder, a.name) < std::tie(b.folder, b.name);
  });
  return pitches;
}

std::vector<fs::path> write_shipped_folder(std::string_view folder, const fs::path& root) {
  std::vector<fs::path> pitches;
  for (const EmbeddedFile& file : kPitchFiles) {
    const fs::path path = root / kRoot / file.name;
    const bool is_pitch = path.extension() == kPitchEnding;
    if (is_pitch && folder_of(file) != folder) continue;
    write(path, file.text);
    if (is_pitch) pitches.push_back(path);
  }
  std::sort(pitches.begin(), pitches.end());
  return pitches;
}

std::vector<fs::path> write_shipped_pitch(const ShippedPitch& pitch, const fs::path& folder) {
  std::vector<Copy> copies;
  add_copies(pitch.name + std::string(kPitchEnding), std::string(pitch.text), pitch.folder, copies);
  std::vector<fs::path> written;
  for (const Copy& copy : copies) {
    written.push_back(folder / copy.name);
    if (fs::exists(written.back()) && !says(written.back(), copy.text)) {
      throw Error(fmt::format("'{}' is there already and is another file; name another folder",
                              written.back().string()));
    }
  }
  for (std::size_t i = 0; i < copies.size(); ++i) write(written[i], copies[i].text);
  return written;
}

}  // namespace thresher
