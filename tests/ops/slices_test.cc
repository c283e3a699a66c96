// SPDX-License-Identifier: Apache-2.0
// Slices and Collected against loops over single elements, of every kind of type.
#include <numeric>

#include "ops/shared/slices.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

constexpr DType kTypes[] = {DType::kInt4,    DType::kUint8,      DType::kFloat16, DType::kFloat32,
                            DType::kFloat64, DType::kComplex128, DType::kString};

/// Element i is i modulo 7; of types that have no such numbers, bytes that tell elements apart.
Tensor counted(DType type, const Shape& shape) {
  const auto count = static_cast<size_t>(element_count(shape).value());
  if (type == DType::kString) {
    std::vector<std::string> values;
    for (size_t i = 0; i < count; ++i)
      values.push_back(std::string(i % 3, 'a') + std::to_string(i));
    return Tensor::strings(shape, values).value();
  }
  if (type == DType::kComplex128) {
    Tensor out = Tensor::zeros(type, shape).value();
    for (std::byte& b : out.mutable_bytes())
      b = static_cast<std::byte>((&b - out.bytes().data()) % 251);
    return out;
  }
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<double>(i % 7);
  return Tensor::from_doubles(type, shape, values).value();
}

std::string element(const Tensor& t, int64_t i) {
  if (t.type() == DType::kString) return t.string_values()[static_cast<size_t>(i)];
  if (bits(t.type()) % 8 != 0) return std::to_string(t.at(i));
  const auto size = static_cast<size_t>(bits(t.type()) / 8);
  const auto part = t.bytes().subspan(static_cast<size_t>(i) * size, size);
  return {reinterpret_cast<const char*>(part.data()), size};
}

int64_t product(const Shape& shape, size_t begin, size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                         shape.begin() + static_cast<std::ptrdiff_t>(end), int64_t{1},
                         std::multiplies<>());
}

/// Whether `slice` is element `i` of `whole` along the axis.
void expect_slice(const Tensor& whole, int64_t axis, int64_t i, const Tensor& slice) {
  Shape shape = whole.shape();
  const auto at = static_cast<size_t>(axis);
  const int64_t outer = product(shape, 0, at), inner = product(shape, at + 1, shape.size());
  const int64_t count = shape[at];
  shape.erase(shape.begin() + axis);
  ASSERT_EQ(slice.shape(), shape);
  ASSERT_EQ(slice.type(), whole.type());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < inner; ++k)
      ASSERT_EQ(element(slice, o * inner + k), element(whole, (o * count + i) * inner + k))
          << name(whole.type()) << to_string(whole.shape()) << " axis " << axis << " at " << i;
}

TEST(Slices, AreTheElementsAlongAnAxis) {
  for (const DType type : kTypes)
    for (const Shape& shape : {Shape{3, 2, 5}, Shape{1, 4, 16}, Shape{4}, Shape{2, 0, 3}})
      for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
        const Tensor x = counted(type, shape);
        Slices slices(x, axis);
        ASSERT_EQ(slices.count(), shape[static_cast<size_t>(axis)]);
        std::vector<Tensor> all; // that are held stay as they are
        for (int64_t i = 0; i < slices.count(); ++i)
          all.push_back(slices.at(i).value());
        for (int64_t i = 0; i < slices.count(); ++i)
          expect_slice(x, axis, i, all[static_cast<size_t>(i)]);
      }
}

TEST(Slices, ShareBytesThatLieTogether) {
  const Tensor x = counted(DType::kFloat32, {1, 4, 16});
  Tensor second;
  {
    Slices slices(x, 1);
    second = slices.at(1).value();
  }
  EXPECT_EQ(second.bytes().data(), x.bytes().data() + 64);
}

TEST(Collected, PutsSlicesTogetherAgain) {
  for (const DType type : kTypes)
    for (const Shape& shape : {Shape{3, 2, 5}, Shape{1, 40, 3}, Shape{40}, Shape{2, 3, 0}})
      for (int64_t axis = 0; axis < std::ssize(shape); ++axis)
        for (const auto order : {CollectOrder::kForward, CollectOrder::kBackward}) {
          const Tensor x = counted(type, shape);
          Slices slices(x, axis);
          if (slices.count() == 0) continue;
          Collected all(axis - (axis % 2 == 0 ? 0 : std::ssize(shape)), slices.count(), order);
          for (int64_t i = 0; i < slices.count(); ++i) {
            const int64_t at = order == CollectOrder::kForward ? i : slices.count() - 1 - i;
            ASSERT_TRUE(all.add(slices.at(at).value()).ok());
          }
          EXPECT_TRUE(all.finish({}).value().identical(x)) << name(type) << " axis " << axis;
        }
}

TEST(Collected, GrowsWhereNobodyKnowsTheCount) {
  for (const DType type : kTypes)
    for (const int64_t count : {1, 16, 17, 100}) {
      const Tensor x = counted(type, {count, 2, 3});
      Slices slices(x, 0);
      Collected all(0, std::nullopt);
      for (int64_t i = 0; i < count; ++i)
        ASSERT_TRUE(all.add(slices.at(i).value()).ok());
      EXPECT_TRUE(all.finish({}).value().identical(x)) << name(type) << " " << count;
    }
}

TEST(Collected, NothingHasAnAxisOf0) {
  const TypeInfo type{DType::kFloat32, std::vector<Dim>{2, Dim::symbol("N")}, {}};
  EXPECT_EQ(Collected(0, 0).finish(type).value().shape(), (Shape{0, 2, 0}));
  EXPECT_EQ(Collected(-1, 0).finish(type).value().shape(), (Shape{2, 0, 0}));
  EXPECT_EQ(Collected(1, 0).finish(type).value().shape(), (Shape{2, 0, 0}));
  EXPECT_FALSE(Collected(3, 0).finish(type).ok());
  EXPECT_FALSE(Collected(0, 0).finish({}).ok());
}

TEST(Collected, RefusesOtherTypesAndShapes) {
  Collected all(0, std::nullopt);
  ASSERT_TRUE(all.add(counted(DType::kFloat32, {2})).ok());
  EXPECT_FALSE(all.add(counted(DType::kFloat32, {3})).ok());
  EXPECT_FALSE(all.add(counted(DType::kFloat64, {2})).ok());
}

} // namespace
} // namespace octet
