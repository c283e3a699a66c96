// SPDX-License-Identifier: Apache-2.0
// Safetensors: a file written by hand from the format's description, round trips, and one clear
// line for each way to be wrong.
#include <filesystem>
#include <fstream>

#include "models/safetensors.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace octet {
namespace {

std::string file(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header + data;
}

Result<std::vector<NamedWeight>> parse(const std::string& bytes) {
  return parse_safetensors(Buffer::borrow(std::as_bytes(std::span(bytes))), "w.safetensors");
}

std::string problem(const std::string& header, const std::string& data) {
  const auto out = parse(file(header, data));
  return out.ok() ? "read" : out.error().text();
}

TEST(Safetensors, ReadsWhatTheFormatDescribes) {
  // bf16 1.5 is 0x3FC0, f16 -2 is 0xC000.
  const std::string bytes = file(
      R"({"__metadata__":{"format":"pt"},"half":{"dtype":"F16","shape":[1],"data_offsets":[4,6]},)"
      R"("brain":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]},)"
      R"("none":{"dtype":"I64","shape":[0,3],"data_offsets":[6,6]}})",
      std::string("\xC0\x3F\xC0\xBF\x00\xC0", 6));
  const auto out = parse(bytes);
  ASSERT_TRUE(out.ok()) << out.error().text();
  ASSERT_EQ(out->size(), 3U);
  EXPECT_EQ((*out)[0].name, "brain");
  EXPECT_EQ((*out)[0].tensor.shape(), (Shape{2, 1}));
  EXPECT_EQ((*out)[0].tensor.at(0), 1.5);
  EXPECT_EQ((*out)[0].tensor.at(1), -1.5);
  EXPECT_EQ((*out)[1].tensor.at(0), -2);
  EXPECT_EQ((*out)[2].tensor.count(), 0);
}

TEST(Safetensors, SaysInOneLineWhatIsWrong) {
  EXPECT_EQ(parse("abc").error().text(), "w.safetensors: 3 bytes are no safetensors file");
  EXPECT_EQ(parse(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10)).error().text(),
            "w.safetensors: a header of 9223372036854775807 bytes in a file of 10; it is no "
            "safetensors file or cut short");
  EXPECT_EQ(problem("[1]", ""), "w.safetensors: the header is no JSON object; the file is damaged");
  EXPECT_EQ(
      problem(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,12]}})", std::string(12, 'x')),
      "w.safetensors: tensor \"a\": its shape [2, 2] of f32 does not take the 12 bytes it "
      "has");
  EXPECT_EQ(problem(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "xxxx"),
            "w.safetensors: tensor \"a\": it lies at 0 .. 8, the file has 4 bytes of tensors; it "
            "is cut short or damaged");
  EXPECT_EQ(problem(R"({"a":{"dtype":"F12","shape":[2],"data_offsets":[0,4]}})", "xxxx"),
            "w.safetensors: tensor \"a\": its dtype is F12, which octet does not read");
  EXPECT_EQ(problem(R"({"a":{"dtype":"U8","shape":[-2],"data_offsets":[0,4]}})", "xxxx"),
            "w.safetensors: tensor \"a\": its dimension is no whole number of at least 0");
  EXPECT_EQ(problem(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                    R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                    "xxxx"),
            "w.safetensors: tensor \"b\" begins at 2, the one before it ends at 3; the file is "
            "damaged");
  EXPECT_EQ(problem(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "xxxx"),
            "w.safetensors: the tensors take 3 bytes, the file has 4; it is damaged");
  EXPECT_EQ(problem(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                    R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                    "xx"),
            "w.safetensors: tensor \"a\" is there twice; write the file again");
  EXPECT_NE(
      problem(R"({"a":{"dtype":"U8","shape":[4611686018427387904,4,4],"data_offsets":[0,0]}})", ""),
      "read");
  EXPECT_NE(problem("{\"a\":" + std::string(100000, '['), ""), "read");
}

TEST(Safetensors, WritesWhatItReads) {
  const std::string path = (std::filesystem::path(testing::TempDir()) /
                            ("octet_" + std::to_string(getpid()) + ".safetensors"))
                               .string();
  const std::vector<NamedWeight> weights = {
      {"a/\"quoted\"", Tensor::of<float>({2, 2}, {1, -2, 3.5F, 0})},
      {"bytes", Tensor::of<uint8_t>({3}, {1, 2, 255})},
      {"scalar", Tensor::scalar(int64_t{-7})}};
  ASSERT_TRUE(write_safetensors(path, weights, Overwrite::kYes).ok());
  const auto out = read_safetensors(path);
  ASSERT_TRUE(out.ok()) << out.error().text();
  ASSERT_EQ(out->size(), weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ((*out)[i].name, weights[i].name);
    EXPECT_TRUE((*out)[i].tensor.identical(weights[i].tensor));
  }
  EXPECT_FALSE(write_safetensors(path, weights, Overwrite::kNo).ok());
  std::filesystem::remove(path);
  EXPECT_FALSE(
      write_safetensors(path, {{"s", Tensor::strings({1}, {"x"}).value()}}, Overwrite::kYes).ok());
}

} // namespace
} // namespace octet
