// SPDX-License-Identifier: Apache-2.0
#include "ops/microsoft/block_codes.h"

#include "core/format.h"

namespace octet::ms {
namespace {

/// The input holds as many elements as any of the two shapes.
Status check_shape(const InferContext& ctx, size_t i, const Shape& wanted) {
  if (!ctx.has(i)) return ok_status();
  const auto shape = ctx.input(i).type.static_shape();
  if (!shape) return ok_status();
  int64_t count = 1, elements = 1;
  for (const int64_t d : wanted)
    count *= d;
  for (const int64_t d : *shape)
    elements *= d;
  if (elements == count) return ok_status();
  return error("input {} has shape {}; {} needs {}", i, to_string(*shape), ctx.node.op_type,
               to_string(wanted));
}

} // namespace

Result<BlockCodes> parse_block_codes(const Node& node) {
  const BlockCodes w{.rows = node.attr_int("N", 0),
                     .columns = node.attr_int("K", 0),
                     .bits = node.attr_int("bits", 4),
                     .block = node.attr_int("block_size", 0)};
  constexpr int64_t kMost = int64_t{1} << 31;
  if (w.rows < 1 || w.columns < 1 || w.rows >= kMost || w.columns >= kMost)
    return error("N is {} and K is {}; give the sizes of the weights", w.rows, w.columns);
  if (w.bits != 2 && w.bits != 4 && w.bits != 8)
    return error(ErrorCode::kUnsupported, "{} bits; codes of 2, 4 or 8 are read", w.bits);
  if (w.block < 16 || w.block > kMost || (w.block & (w.block - 1)) != 0)
    return error("block_size is {}; use a power of two from 16 on", w.block);
  if (node.attr_int("weight_prepacked", 0) != 0)
    return error(ErrorCode::kUnsupported, "prepacked weights are in no layout that others read");
  return w;
}

Status check_block_codes(const InferContext& ctx, const BlockCodes& w) {
  OCTET_TRY(check_input(ctx, 1, TypeSet{DType::kUint8}));
  OCTET_TRY(check_input(ctx, 2, kFloatTypes));
  OCTET_TRY(check_optional(ctx, 3, kFloatTypes | TypeSet{DType::kUint8}));
  OCTET_TRY(check_optional(ctx, 4, TypeSet{DType::kInt32}));
  OCTET_TRY(check_shape(ctx, 1, {w.rows, w.blocks(), w.block_bytes()}));
  OCTET_TRY(check_shape(ctx, 2, {w.rows, w.blocks()}));
  const bool packed = ctx.has(3) && ctx.input(3).type.type == DType::kUint8;
  OCTET_TRY(check_shape(ctx, 3, {w.rows, packed ? w.zero_bytes() : w.blocks()}));
  OCTET_TRY(check_shape(ctx, 4, {w.columns}));
  return ok_status();
}

std::optional<std::vector<Tensor>>
constant_block_codes(const Graph& graph, const Node& node, const BlockCodes& w) {
  std::vector<Tensor> inputs(5);
  InferContext types{node, 1, {}, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    InputInfo info;
    info.present = node.input(i).valid();
    if (i > 0 && info.present) {
      info.constant = graph.constant(node.input(i));
      if (info.constant == nullptr) return std::nullopt;
      inputs[i] = *info.constant;
      info.type = tensor_type(inputs[i].type(), inputs[i].shape());
    }
    types.inputs.push_back(std::move(info));
  }
  return check_block_codes(types, w).ok() ? std::optional(std::move(inputs)) : std::nullopt;
}

Result<std::vector<double>> block_values(const BlockCodes& w, std::span<const Tensor> inputs) {
  const Tensor zeros = inputs.size() > 3 ? inputs[3] : Tensor();
  const bool packed = zeros.type() == DType::kUint8;
  const auto scales = OCTET_TRY(inputs[2].to_doubles());
  std::vector<double> numbers;
  if (!zeros.empty() && !packed) numbers = OCTET_TRY(zeros.to_doubles());
  std::vector<int64_t> groups;
  if (inputs.size() > 4 && !inputs[4].empty()) groups = OCTET_TRY(inputs[4].to_ints());
  for (const int64_t g : groups)
    if (g < 0 || g >= w.blocks())
      return error("g_idx holds {}; there are {} blocks", g, w.blocks());
  const Tensor stored = inputs[1].aligned();
  const auto codes = stored.data<uint8_t>();
  const auto* zero_codes =
      packed ? reinterpret_cast<const uint8_t*>(zeros.bytes().data()) : nullptr;
  std::vector<double> out(static_cast<size_t>(w.rows * w.columns));
  for (int64_t r = 0; r < w.rows; ++r)
    for (int64_t c = 0; c < w.columns; ++c) {
      const int64_t own = c / w.block;
      const int64_t block = groups.empty() ? own : groups[static_cast<size_t>(c)];
      const auto place = static_cast<size_t>(r * w.blocks() + block);
      const uint8_t* bytes = codes.data() + (r * w.blocks() + own) * w.block_bytes();
      const double zero =
          packed ? static_cast<double>(packed_code(zero_codes + r * w.zero_bytes(), block, w.bits))
          : !numbers.empty() ? numbers[place]
                             : static_cast<double>(1 << (w.bits - 1));
      out[static_cast<size_t>(r * w.columns + c)] =
          (static_cast<double>(packed_code(bytes, c % w.block, w.bits)) - zero) * scales[place];
    }
  return out;
}

} // namespace octet::ms
