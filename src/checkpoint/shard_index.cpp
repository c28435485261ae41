// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard_index.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "checkpoint/printable.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

// Reads {"metadata": ..., "weight_map": {name: file}}; whatever stands beside the map is read over.
class IndexReader {
 public:
  using Parser = nlohmann::json;
  using Text = Parser::string_t;

  explicit IndexReader(std::string_view index) : index_(index) {}

  ShardIndex take() {
    if (!has_map_) throw Error(fmt::format("{}: has no weight_map", index_));
    return std::move(result_);
  }

  bool start_object(std::size_t) {
    if (depth_ == kMapDepth && in_map_) return wrong();
    ++depth_;
    return true;
  }
  bool end_object() {
    if (--depth_ < kMapDepth) in_map_ = false;
    return true;
  }
  bool start_array(std::size_t) {
    if (in_map_ || depth_ == 0) return wrong();
    ++depth_;
    return true;
  }
  bool end_array() {
    --depth_;
    return true;
  }
  bool key(Text& key) {
    if (depth_ == 1) {
      in_map_ = key == "weight_map";
      if (in_map_ && std::exchange(has_map_, true)) {
        throw Error(fmt::format("{}: weight_map stands twice", index_));
      }
    } else if (in_map_) {
      tensor_ = key;
    }
    return true;
  }
  bool string(Text& text) {
    if (!in_map_ || depth_ != kMapDepth) return scalar();
    if (!is_plain_name(text)) {
      throw Error(
          fmt::format("{}: tensor '{}' is in '{}', which is not the name of a file in the "
                      "same folder",
                      index_, printable(tensor_), printable(text)));
    }
    if (!names_.insert(tensor_).second) {
      throw Error(
          fmt::format("{}: tensor '{}' stands twice in weight_map", index_, printable(tensor_)));
    }
    const auto [place, is_new] = places_.try_emplace(text, result_.files.size());
    if (is_new) result_.files.push_back(text);
    result_.tensors.emplace_back(tensor_, place->second);
    return true;
  }
  bool null() { return scalar(); }
  bool boolean(bool) { return scalar(); }
  bool number_integer(Parser::number_integer_t) { return scalar(); }
  bool number_unsigned(Parser::number_unsigned_t) { return scalar(); }
  bool number_float(Parser::number_float_t, const Text&) { return scalar(); }
  bool binary(Parser::binary_t&) { return scalar(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    throw Error(fmt::format("{}: byte {}: is not JSON", index_, position > 0 ? position - 1 : 0));
  }

 private:
  static constexpr int kMapDepth = 2;

  bool scalar() const { return in_map_ || depth_ == 0 ? wrong() : true; }
  bool wrong() const {
    if (!in_map_) throw Error(fmt::format("{}: is not an object", index_));
    if (depth_ < kMapDepth) throw Error(fmt::format("{}: weight_map is not an object", index_));
    throw Error(fmt::format("{}: tensor '{}': its file is not a text", index_, printable(tensor_)));
  }

  std::string_view index_;
  ShardIndex result_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::size_t> places_;
  std::string tensor_;
  int depth_ = 0;
  bool in_map_ = false;
  bool has_map_ = false;
};

}  // namespace

ShardIndex parse_shard_index(std::string_view json, std::string_view index) {
  // The parser would take it for the end of its input.
  if (const std::size_t nul = json.find('\0'); nul != std::string_view::npos) {
    throw Error(fmt::format("{}: byte {}: is not JSON", index, nul));
  }
  IndexReader reader(index);
  nlohmann::json::sax_parse(json.data(), json.data() + json.size(), &reader);
  return reader.take();
}

}  // namespace thresher::checkpoint
