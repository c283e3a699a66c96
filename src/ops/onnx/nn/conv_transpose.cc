// SPDX-License-Identifier: Apache-2.0
// ConvTranspose (opset 1 to 22), one to three spatial axes. x: [N, C, D...], w: [C, O / group,
// k...], b: [O]. y[p * stride + t * dilation - pad] += x[p] * w[t]; along each axis the output has
// stride * (in - 1) + output_padding + (k - 1) * dilation + 1 - pads elements, or what output_shape
// says.
#include <algorithm>

#include "core/format.h"
#include "ops/shared/transposed_window.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_ConvTranspose {
namespace {

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
  const auto a = OCTET_TRY(parse_transposed(c.node, std::move(kernel)));
  if ((*x.shape)[1].is_constant() && (*x.shape)[1].value() % a.group != 0)
    return error("{} channels in {} groups; make them divide", (*x.shape)[1].value(), a.group);
  for (size_t i = 0; i < a.window.spatial_rank(); ++i) {
    if (!(*x.shape)[i + 2].is_constant()) continue;
    const int64_t size = transposed_extent(a, i, (*x.shape)[i + 2].value()).size;
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
  const auto a = OCTET_TRY(parse_transposed(c.node, slice_of(ws, 2, ws.size())));
  Window3 g = window3(a.window, slice_of(in, 2, in.size()), slice_of(shape, 2, shape.size()));
  for (size_t i = 0; i < a.window.spatial_rank(); ++i)
    g.pad[3 - a.window.spatial_rank() + i] = transposed_extent(a, i, in[i + 2]).pad;
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
