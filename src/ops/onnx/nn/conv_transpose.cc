// SPDX-License-Identifier: Apache-2.0
// ConvTranspose (opset 1 to 22), one to three spatial axes. x: [N, C, D...], w: [C, O / group,
// k...], b: [O]. y[p * stride + t * dilation - pad] += x[p] * w[t]; along each axis the output has
// stride * (in - 1) + output_padding + (k - 1) * dilation + 1 - pads elements, or what output_shape
// says.
#include <algorithm>

#include "core/format.h"
#include "ops/shared/validate.h"
#include "ops/shared/window.h"

namespace octet::onnx::op_ConvTranspose {
namespace {

struct ConvTransposeAttrs {
  WindowAttrs window;
  std::vector<int64_t> output_padding, output_shape;
  int64_t group = 1;
};

Result<ConvTransposeAttrs> parse(const Node& node, std::vector<int64_t> kernel) {
  ConvTransposeAttrs a;
  const size_t rank = kernel.size();
  const auto declared = node.attr_ints("kernel_shape");
  if (!declared.empty() && declared != kernel)
    return error("kernel_shape {} and weights of kernel {}; make them equal", to_string(declared),
                 to_string(kernel));
  a.window = OCTET_TRY(parse_window(node, std::move(kernel)));
  a.output_padding = node.attr_ints("output_padding");
  if (a.output_padding.empty()) a.output_padding.assign(rank, 0);
  a.output_shape = node.attr_ints("output_shape");
  if (a.output_shape.size() > rank) // with batch and channels in front
    a.output_shape.erase(a.output_shape.begin(),
                         a.output_shape.end() - static_cast<ptrdiff_t>(rank));
  a.group = node.attr_int("group", 1);
  if (a.group < 1) return error("group {}; use a positive number", a.group);
  if (a.output_padding.size() != rank || (!a.output_shape.empty() && a.output_shape.size() != rank))
    return error("output_padding or output_shape has a count other than {}", rank);
  for (const auto& list : {a.output_padding, a.output_shape})
    for (int64_t v : list)
      if (v < 0 || v > (int64_t{1} << 31))
        return error("output_padding or output_shape holds {}; use values from 0 to 2^31", v);
  return a;
}

/// Output elements along an axis, and the padding taken off in front. Automatic padding takes off
/// what exceeds input times stride and never adds: where the kernel is shorter than the stride, the
/// output is.
struct Extent {
  int64_t size, pad;
};
Extent extent(const ConvTransposeAttrs& a, size_t axis, int64_t in) {
  const WindowAttrs& w = a.window;
  const size_t rank = w.spatial_rank();
  const int64_t full = w.strides[axis] * (in - 1) + a.output_padding[axis] + w.extent(axis);
  const bool same = w.auto_pad == AutoPad::kSameUpper || w.auto_pad == AutoPad::kSameLower;
  if (a.output_shape.empty() && !same)
    return {full - w.pads[axis] - w.pads[rank + axis], w.pads[axis]};
  const int64_t size =
      a.output_shape.empty() ? std::min(in * w.strides[axis], full) : a.output_shape[axis];
  const int64_t total = std::max<int64_t>(full - size, 0);
  return {size, w.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2};
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_optional(c, i, kFloatTypes));
  OCTET_TRY(check_rank(c, 0, 3, 5));
  const DType type = OCTET_TRY(common_type(c, 0, c.inputs.size() - 1));
  const TypeInfo &x = c.input(0).type, &w = c.input(1).type;
  if (!x.has_rank() || !w.has_rank()) return one(type, std::nullopt);
  OCTET_TRY(check_rank(c, 1, x.rank(), x.rank()));
  OCTET_TRY(merge_dims((*x.shape)[1], (*w.shape)[0], "channels of the input and the weights"));
  std::vector<Dim> shape = {(*x.shape)[0], (*w.shape)[1] * Dim(c.node.attr_int("group", 1))};
  OCTET_TRY(check_vector(c, 2, shape[1], "bias elements and output channels"));
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < w.shape->size(); ++i)
    kernel.push_back((*w.shape)[i].maybe_value().value_or(0));
  shape.resize(x.shape->size());
  if (std::find(kernel.begin(), kernel.end(), 0) != kernel.end()) return one(type, shape);
  const auto a = OCTET_TRY(parse(c.node, std::move(kernel)));
  if ((*x.shape)[1].is_constant() && (*x.shape)[1].value() % a.group != 0)
    return error("{} channels in {} groups; make them divide", (*x.shape)[1].value(), a.group);
  for (size_t i = 0; i < a.window.spatial_rank(); ++i) {
    if (!(*x.shape)[i + 2].is_constant()) continue;
    const int64_t size = extent(a, i, (*x.shape)[i + 2].value()).size;
    if (size < 0) return error("the output has {} elements on spatial axis {}; pad less", size, i);
    shape[i + 2] = Dim(size);
  }
  return one(type, std::move(shape));
}

/// Adds one input plane spread by one kernel plane to an output plane. g.in is the smaller side.
void spread_plane(const Window3& g, const double* x, const double* w, double* y) {
  for (int64_t d = 0; d < g.in[0]; ++d)
    for (int64_t h = 0; h < g.in[1]; ++h)
      for (int64_t v = 0; v < g.in[2]; ++v, ++x) {
        const double* tap = w;
        for (int64_t a = 0; a < g.kernel[0]; ++a)
          for (int64_t b = 0; b < g.kernel[1]; ++b)
            for (int64_t k = 0; k < g.kernel[2]; ++k, ++tap) {
              const int64_t i = d * g.stride[0] + a * g.dilation[0] - g.pad[0];
              const int64_t j = h * g.stride[1] + b * g.dilation[1] - g.pad[1];
              const int64_t l = v * g.stride[2] + k * g.dilation[2] - g.pad[2];
              if (i < 0 || j < 0 || l < 0 || i >= g.out[0] || j >= g.out[1] || l >= g.out[2])
                continue;
              y[(i * g.out[1] + j) * g.out[2] + l] += *x * *tap;
            }
      }
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const Shape &in = c.inputs[0].shape(), &ws = c.inputs[1].shape();
  const auto a = OCTET_TRY(parse(c.node, slice_of(ws, 2, ws.size())));
  Window3 g = window3(a.window, slice_of(in, 2, in.size()), slice_of(shape, 2, shape.size()));
  for (size_t i = 0; i < a.window.spatial_rank(); ++i)
    g.pad[3 - a.window.spatial_rank() + i] = extent(a, i, in[i + 2]).pad;
  const auto x = OCTET_TRY(c.inputs[0].to_doubles());
  const auto w = OCTET_TRY(c.inputs[1].to_doubles());
  std::vector<double> y(static_cast<size_t>(OCTET_TRY(element_count(shape))));
  const int64_t group_in = in[1] / a.group, group_out = ws[1], plane = g.out_count();
  if (c.has(2)) {
    const auto bias = OCTET_TRY(c.inputs[2].to_doubles());
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = bias[i / static_cast<size_t>(plane) % bias.size()];
  }
  for (int64_t n = 0; n < in[0]; ++n)
    for (int64_t channel = 0; channel < in[1]; ++channel)
      for (int64_t o = 0; o < group_out; ++o)
        spread_plane(g, x.data() + (n * in[1] + channel) * g.in_count(),
                     w.data() + (channel * group_out + o) * g.kernel_count(),
                     y.data() + (n * shape[1] + channel / group_in * group_out + o) * plane);
  return one(OCTET_TRY(rounded(outputs[0].type.type, shape, y)));
}

Role roles(const Node&, size_t input) {
  return input == 0 ? Role::kData : input == 1 ? Role::kWeight : Role::kBias;
}

QuantTrait quant(const Node&, std::span<const InputInfo> inputs) {
  QuantTrait t;
  if (inputs.size() < 2 || inputs[1].constant == nullptr) {
    t.kind = QuantTrait::Kind::kProduct;
    t.inputs = {0, 1};
    return t;
  }
  t.kind = QuantTrait::Kind::kWeighted;
  t.inputs = {0};
  t.weight = 1;
  t.weight_axis = 1;
  if (inputs.size() > 2 && inputs[2].present) t.bias = 2;
  return t;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .unchanged = true},
};

} // namespace octet::onnx::op_ConvTranspose
