// SPDX-License-Identifier: Apache-2.0
#include "passes/lower/coded_weights.h"

#include <array>
#include <utility>
#include <vector>

#include "core/convert.h"
#include "ops/evaluate.h"
#include "ops/native/coded_gemm.h"
#include "ops/qdq/site.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

constexpr std::array<int64_t, 2> kOtherWay = {1, 0};

Tensor turned_bytes(const Tensor& t) {
  return permuted(t, kOtherWay);
}

/// The columns of a matrix of any type as rows.
Tensor turned_matrix(const Tensor& t) {
  return bits(t.type()) > 8 ? permuted(t, kOtherWay) : moved_codes(t, turned_bytes);
}

/// As many as `scales` of one or [N] numbers, or of a matrix that is [N, blocks] where it is
/// `turned`.
Tensor by_rows(const Tensor& numbers, int64_t rows, bool turned) {
  if (numbers.rank() == 2 && numbers.count() != 1) return turned ? numbers : turned_matrix(numbers);
  if (numbers.count() == rows) return numbers.reshaped({rows, 1}).value();
  const std::vector<double> one(static_cast<size_t>(rows), numbers.at(0));
  return Tensor::from_doubles(numbers.type(), {rows, 1}, one).value();
}

bool is_turn(const Node& node) {
  const std::vector<int64_t> perm = node.attr_ints("perm");
  return node.is("Transpose") && (perm.empty() || perm == std::vector<int64_t>{1, 0});
}

/// A lone zero point stands for all scales.
Tensor zeros_by_rows(const qdq::Grid& grid, const Tensor& scales, bool turned) {
  if (grid.zero.count() != 1 || scales.count() == 1)
    return by_rows(grid.zero, scales.dim(0), turned);
  const std::vector<double> all(static_cast<size_t>(scales.count()), grid.zero.at(0));
  return Tensor::from_doubles(grid.zero.type(), scales.shape(), all).value();
}

bool are_zero(const Tensor& numbers) {
  for (int64_t i = 0; i < numbers.count(); ++i)
    if (numbers.at(i) != 0) return false;
  return true;
}

} // namespace

Tensor moved_codes(const Tensor& codes, const std::function<Tensor(const Tensor&)>& move) {
  const DType type = codes.type();
  if (bits(type) == 8) return move(codes.bitcast(DType::kUint8).value()).bitcast(type).value();
  Tensor bytes = Tensor::zeros(DType::kUint8, codes.shape()).value();
  const auto to = bytes.mutable_data<uint8_t>();
  for (int64_t i = 0; i < codes.count(); ++i)
    to[static_cast<size_t>(i)] = get_code(type, codes.bytes().data(), i);
  codes.page_out();
  const Tensor moved = move(bytes);
  const auto from = moved.data<uint8_t>();
  Tensor out = Tensor::zeros(type, moved.shape()).value();
  std::byte* const packed = out.mutable_bytes().data();
  for (int64_t i = 0; i < moved.count(); ++i)
    put_code(type, packed, i, from[static_cast<size_t>(i)]);
  return out;
}

std::optional<CodedWeights> coded_weights(const Graph& g, ValueId matrix, bool turned) {
  constexpr qdq::Reading kStored{.most = qdq::Reading::Most::kAny,
                                 .written_zero = false,
                                 .known_axis = true,
                                 .lone_zero = true,
                                 .folded = true,
                                 .microsoft = false};
  if (const Node* turn = g.producer(matrix); turn != nullptr && is_turn(*turn)) {
    matrix = turn->input(0);
    turned = !turned;
  }
  if (!matrix.valid() || g.value(matrix).type.type != DType::kFloat32) return std::nullopt;
  const auto site = qdq::read_dequantize(g, matrix, kStored);
  if (!site || !native::kStoredWeights.has(site->grid.codes)) return std::nullopt;
  const qdq::Grid& grid = site->grid;
  const int64_t channels = turned ? 0 : 1, along = 1 - channels;
  if (!grid.per_tensor() && grid.axis != (grid.block == 0 ? channels : along)) return std::nullopt;
  if (grid.scale.type() != DType::kFloat32 && grid.scale.type() != DType::kFloat8E8M0)
    return std::nullopt;
  std::optional<Tensor> codes = constant_value(g, site->codes);
  if (!codes || codes->type() != grid.codes || codes->rank() != 2 || codes->count() == 0)
    return std::nullopt;
  const int64_t n = codes->dim(channels), k = codes->dim(along);
  CodedWeights out;
  if (!grid.per_tensor() && grid.block != 0) {
    const int64_t blocks = k / grid.block + (k % grid.block == 0 ? 0 : 1);
    if (grid.scale.rank() != 2 || grid.scale.dim(channels) != n || grid.scale.dim(along) != blocks)
      return std::nullopt;
    out.block = grid.block;
  } else if (!grid.per_tensor() && grid.count() != n) {
    return std::nullopt;
  }
  const auto scales = grid.scale.to_floats();
  if (!scales.ok()) return std::nullopt;
  out.scales = by_rows(Tensor::of<float>(grid.scale.shape(), *scales), n, turned);
  if (!grid.zero.empty() && !are_zero(grid.zero))
    out.zeros = zeros_by_rows(grid, out.scales, turned);
  out.codes = turned ? *std::move(codes) : turned_matrix(*codes);
  return out;
}

} // namespace octet::lowering
