// SPDX-License-Identifier: Apache-2.0
//   MatMulNBits(a, codes, scales, zeros, _, bias)    =>    MatMul(a, Transpose(DQ(codes))) [+ bias]
// Rounding: each weight is rounded to the type of the scales, as DQ rounds it. The product then
// decodes what is stored. Wanted: constant weights, zero points that are codes, no groups.
#include "core/convert.h"
#include "graph/domains.h"
#include "ops/microsoft/block_codes.h"
#include "passes/lower/chains.h"

namespace octet::lowering {
namespace {

DType type_of_bits(int64_t bits, bool is_signed) {
  if (bits == 8) return is_signed ? DType::kInt8 : DType::kUint8;
  if (bits == 4) return is_signed ? DType::kInt4 : DType::kUint4;
  return is_signed ? DType::kInt2 : DType::kUint2;
}

/// Rows of `columns` codes, each of which begins with a byte, one behind the other. `flip` changes
/// their bits.
Tensor joined_rows(const Tensor& packed,
                   DType type,
                   int64_t rows,
                   int64_t row_bytes,
                   int64_t columns,
                   uint8_t flip) {
  Tensor out = Tensor::zeros(type, {rows, columns}).value();
  std::byte* const to = out.mutable_bytes().data();
  const int64_t width = bits(type);
  const auto* from = reinterpret_cast<const uint8_t*>(packed.bytes().data());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < columns; ++i)
      put_code(type, to, r * columns + i,
               static_cast<uint8_t>(ms::packed_code(from + r * row_bytes, i, width) ^ flip));
  packed.page_out();
  return out;
}

} // namespace

std::optional<Patch> store_matmul_nbits(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  constexpr int64_t kVectorScales = 13; // operator set
  if (!node.is("MatMulNBits", kMicrosoft) || g.opset() < kVectorScales || node.input(4).valid())
    return std::nullopt;
  const DType type = g.value(node.input(0)).type.type;
  const auto w = ms::parse_block_codes(node);
  if (!w.ok()) return std::nullopt;
  const auto inputs = ms::constant_block_codes(g, node, *w);
  if (!inputs || (*inputs)[2].type() != type || type == DType::kFloat64) return std::nullopt;
  const Tensor& zeros = (*inputs)[3];
  if (!zeros.empty() && zeros.type() != DType::kUint8) return std::nullopt;
  // Without zero points they are half of the range: signed codes around 0.
  const DType stored = type_of_bits(w->bits, zeros.empty());
  const auto flip = static_cast<uint8_t>(zeros.empty() ? 1 << (w->bits - 1) : 0);
  Patch patch(g, "MatMulNBits is a product with stored codes", Exactness::kRounding);
  patch.from(node);
  const std::string own = node.name.empty() ? g.value(node.output(0)).name : node.name;
  const auto name = [&](const char* part) { return own + part; };
  std::vector<ValueId> read = {
      patch.constant(name("/codes"), joined_rows((*inputs)[1], stored, w->rows,
                                                 w->blocks() * w->block_bytes(), w->columns, flip)),
      patch.constant(name("/scales"), (*inputs)[2].reshaped({w->rows, w->blocks()}).value())};
  if (!zeros.empty())
    read.push_back(patch.constant(
        name("/zeros"), joined_rows(zeros, stored, w->rows, w->zero_bytes(), w->blocks(), 0)));
  Attributes blocks, turn;
  blocks["axis"].value = int64_t{1};
  blocks["block_size"].value = w->block;
  turn["perm"].value = std::vector<int64_t>{1, 0};
  const ValueId rows =
      patch.emit("DequantizeLinear", std::move(read), std::move(blocks), name("/weights"));
  const ValueId columns = patch.emit("Transpose", {rows}, std::move(turn), name("/turned"));
  const bool biased = node.input(5).valid();
  ValueId y = patch.emit("MatMul", {node.input(0), columns}, {}, biased ? name("/product") : own);
  if (biased) y = patch.emit("Add", {y, node.input(5)}, {}, own);
  patch.replace(node.output(0), y);
  return patch;
}

} // namespace octet::lowering
