// SPDX-License-Identifier: Apache-2.0
// QResize on numbers that are known, and what it refuses.
#include "ops/op_runner.h"

namespace octet::test {
namespace {

Result<std::vector<Tensor>> run_qresize(const Attributes& more, const Tensor& x) {
  Attributes attributes = {{"mode", attribute(std::string("linear"))}};
  for (const auto& [key, value] : more)
    attributes.insert_or_assign(key, value);
  return run_op(kNative, "QResize", attributes, {x, Tensor::of<float>({1}, {2})}, 1);
}

TEST(QResize, ReadsAndWritesCodes) {
  const Tensor x = Tensor::of<int8_t>({2}, {-2, 6});
  const Attributes from = {{"x_scale", attribute(0.5F)}, {"x_zero_point", attribute(int64_t{-2})}};
  // 0 and 4 at half pixels: 0, 1, 3, 4.
  const auto floats = run_qresize(from, x);
  ASSERT_TRUE(floats.ok()) << floats.error().text();
  EXPECT_TRUE(floats->front().identical(Tensor::of<float>({4}, {0, 1, 3, 4})));
  Attributes both = from;
  both["to"] = attribute(int64_t{2});
  both["scale"] = attribute(2.0F);
  both["zero_point"] = attribute(int64_t{1});
  // 0.5 and 1.5 lie between two codes: the even one before the zero point.
  const auto codes = run_qresize(both, x);
  ASSERT_TRUE(codes.ok()) << codes.error().text();
  EXPECT_TRUE(codes->front().identical(Tensor::of<uint8_t>({4}, {1, 1, 3, 3})));
}

TEST(QResize, RefusesWhatItCannotRun) {
  const Tensor x = Tensor::of<int8_t>({2}, {1, 2});
  EXPECT_TRUE(run_qresize({}, x).ok());
  EXPECT_FALSE(run_qresize({{"mode", attribute(std::string("nearest"))}}, x).ok());
  EXPECT_FALSE(run_qresize({{"x_zero_point", attribute(int64_t{200})}}, x).ok());
  EXPECT_FALSE(run_qresize({{"to", attribute(int64_t{7})}}, x).ok());
  EXPECT_FALSE(
      run_qresize({{"to", attribute(int64_t{2})}, {"zero_point", attribute(int64_t{-1})}}, x).ok());
  EXPECT_FALSE(
      run_qresize({{"mode", attribute(std::string("cubic"))}, {"to", attribute(int64_t{6})}}, x)
          .ok());
}

} // namespace
} // namespace octet::test
