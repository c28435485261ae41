// SPDX-License-Identifier: Apache-2.0
// Files that are nearly safetensors files, each wrong in one way, and what is to be said of it.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/sample.hpp"

namespace thresher::checkpoint {

struct Hostile {
  std::string name;
  std::string bytes;
  std::string complaint;
};

inline std::vector<Hostile> hostile_files() {
  // One tensor of U8, `fields` in its object, and four bytes of data.
  const auto tensor = [](std::string_view fields) {
    return with_length("{\"t\":{" + std::string(fields) + "}}") + "1234";
  };
  const std::string dtype = R"("dtype":"U8",)";
  const std::string good = R"("dtype":"U8","shape":[4],"data_offsets":[0,4])";
  const auto two = [&](std::string_view first, std::string_view second) {
    return with_length("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" +
                       std::string(first) + "},\"b\":{\"dtype\":\"U8\",\"shape\":[2]," +
                       "\"data_offsets\":" + std::string(second) + "}}") +
           "12345";
  };
  std::string gigantic(8, '\0');
  gigantic[4] = 1;  // 4 GiB of header
  std::string longest(8, '\xff');
  const std::string deep(100000, '[');
  return {
      {"empty", "", "too few"},
      {"seven_bytes", "1234567", "too few"},
      {"no_header", std::string(8, '\0'), "does not begin with '{'"},
      {"gigantic_header", gigantic + "{}", "more than 100000000"},
      {"longest_header", longest + "{}", "more than 100000000"},
      {"header_past_the_end", with_length("{}").replace(0, 1, "\x7f"), "does not fit"},
      {"not_json", with_length("{\"t\":") + "1234", "not JSON"},
      {"text_after_json", with_length("{} x"), "not JSON"},
      {"nul_after_json", with_length(std::string("{}\0\0", 4)), "not JSON"},
      {"blank_before_json", with_length(" {}"), "does not begin with '{'"},
      {"a_list", with_length("[]"), "does not begin with '{'"},
      {"invalid_utf8", with_length("{\"\xff\":1}"), "not JSON"},
      {"deep", with_length("{\"t\":" + deep), "tensor 't' is a list"},
      {"deep_in_unknown", with_length("{\"t\":{\"x\":" + deep), "not JSON"},
      {"control_character", with_length(R"({"\u0000t":{)" + good + "}}") + "1234",
       "tensor '?t' has a control character in its name"},
      {"tensor_is_a_number", with_length("{\"t\":4}"), "tensor 't' is a number"},
      {"tensor_is_null", with_length("{\"t\":null}"), "tensor 't' is null"},
      {"no_fields", tensor(""), "needs dtype, shape and two data_offsets"},
      {"no_shape", tensor(R"("dtype":"U8","data_offsets":[0,4])"), "needs dtype"},
      {"one_offset", tensor(dtype + R"("shape":[4],"data_offsets":[4])"), "two data_offsets"},
      {"three_offsets", tensor(dtype + R"("shape":[4],"data_offsets":[0,4,4])"),
       "two data_offsets"},
      {"unknown_dtype", tensor(R"("dtype":"U9","shape":[4],"data_offsets":[0,4])"),
       "dtype 'U9' is unknown"},
      {"dtype_is_a_number", tensor(R"("dtype":8,"shape":[4],"data_offsets":[0,4])"),
       "dtype is a number"},
      {"shape_is_a_number", tensor(dtype + R"("shape":4,"data_offsets":[0,4])"),
       "shape is a number"},
      {"nested_shape", tensor(dtype + R"("shape":[[4]],"data_offsets":[0,4])"),
       "a value of shape is a list"},
      {"negative_extent", tensor(dtype + R"("shape":[-4],"data_offsets":[0,4])"), "below zero"},
      {"fraction", tensor(dtype + R"("shape":[4.0],"data_offsets":[0,4])"), "no whole number"},
      {"extent_of_2_64", tensor(dtype + R"("shape":[18446744073709551616],"data_offsets":[0,4])"),
       "no whole number"},
      {"extent_of_2_63", tensor(dtype + R"("shape":[9223372036854775808],"data_offsets":[0,4])"),
       "too large"},
      {"shape_overflows",
       tensor(dtype + R"("shape":[4294967296,4294967296,4],"data_offsets":[0,4])"),
       "is not what 4 bytes hold"},
      {"shape_overflows_to_four",
       tensor(dtype + R"("shape":[2305843009213693953,4],"data_offsets":[0,4])"),
       "is not what 4 bytes hold"},
      {"many_dimensions",
       tensor(dtype + R"("shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4],"data_offsets":[0,4])"),
       "more than 16 dimensions"},
      {"shape_too_small", tensor(dtype + R"("shape":[3],"data_offsets":[0,4])"),
       "is not what 4 bytes hold"},
      {"half_a_byte", tensor(R"("dtype":"F4","shape":[7],"data_offsets":[0,4])"),
       "is not what 4 bytes hold"},
      {"backwards", tensor(dtype + R"("shape":[4],"data_offsets":[4,0])"), "are no range"},
      {"far_away",
       tensor(dtype + R"("shape":[4],"data_offsets":[18446744073709551611,)" +
              "18446744073709551615]"),
       "are no range"},
      {"past_the_end", tensor(dtype + R"("shape":[5],"data_offsets":[0,5])"),
       "past the end of the file"},
      {"starts_late", tensor(dtype + R"("shape":[3],"data_offsets":[1,4])"), "leaves a hole"},
      {"ends_early", tensor(dtype + R"("shape":[3],"data_offsets":[0,3])"), "belong to no tensor"},
      {"overlap", two("[0,2]", "[1,3]"), "overlaps the one before it"},
      {"same_bytes", two("[0,2]", "[0,2]"), "overlaps the one before it"},
      {"hole", two("[0,2]", "[3,5]"), "leaves a hole from byte"},
      {"second_past_the_end", two("[0,2]", "[4,6]"), "past the end"},
      {"duplicate_tensor", with_length("{\"t\":{" + good + "},\"t\":{" + good + "}}") + "1234",
       "'t' stands twice in the header"},
      {"duplicate_field", tensor(dtype + good), "'dtype' stands twice"},
      {"duplicate_metadata", with_length(R"({"__metadata__":{},"__metadata__":{}})"),
       "__metadata__ stands twice"},
      {"duplicate_in_metadata", with_length(R"({"__metadata__":{"a":"1","a":"2"}})"),
       "'a' stands twice in __metadata__"},
      {"metadata_is_a_number", with_length(R"({"__metadata__":{"a":1}})"),
       "'a' of __metadata__ is a number"},
      {"metadata_is_nested", with_length(R"({"__metadata__":{"a":{}}})"),
       "'a' of __metadata__ is an object"},
  };
}

}  // namespace thresher::checkpoint
