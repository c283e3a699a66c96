// SPDX-License-Identifier: Apache-2.0
// What Conv, ConvInteger and QLinearConv share.
#include "ops/shared/convolution.h"

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet {
namespace {

std::optional<std::vector<int64_t>> kernel_of(const TypeInfo& weight) {
  if (!weight.has_rank() || weight.rank() < 3) return std::nullopt;
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < weight.shape->size(); ++i) {
    const Dim& d = (*weight.shape)[i];
    if (!d.is_constant()) return std::nullopt;
    kernel.push_back(d.value());
  }
  return kernel;
}

Status check_channels(const Dim& in, const Dim& weight_in, const Dim& out, int64_t group) {
  if (group < 1) return error("group {}; use a positive number", group);
  if (out.is_constant() && out.value() % group != 0)
    return error("{} output channels in {} groups; make them divide", out.value(), group);
  if (in.is_constant() && weight_in.is_constant() && in.value() != weight_in.value() * group)
    return error(
        "the input has {} channels and the weights take {} in each of {} groups; make them "
        "agree",
        in.value(), weight_in.value(), group);
  return ok_status();
}

} // namespace

Result<std::optional<ConvAttrs>> parse_conv(const Node& node, const TypeInfo& weight) {
  auto declared = node.attr_ints("kernel_shape");
  auto kernel = kernel_of(weight);
  if (kernel && !declared.empty() && *kernel != declared)
    return error("kernel_shape {} and weights of kernel {}; make them equal", to_string(declared),
                 to_string(*kernel));
  if (!kernel && declared.empty()) return std::optional<ConvAttrs>();
  ConvAttrs a;
  a.window = OCTET_TRY(parse_window(node, kernel ? *kernel : declared));
  a.group = node.attr_int("group", 1);
  return std::optional(std::move(a));
}

Result<std::optional<std::vector<Dim>>>
conv_shape(const Node& node, const TypeInfo& x, const TypeInfo& weight) {
  using Dims = std::optional<std::vector<Dim>>;
  if (x.has_rank() && (x.rank() < 3 || x.rank() > 5))
    return error("{} spatial axes; use one to three", x.rank() - 2);
  if (x.has_rank() && weight.has_rank() && x.rank() != weight.rank())
    return error("the input has rank {} and the weights {}; make them equal", x.rank(),
                 weight.rank());
  const auto a = OCTET_TRY(parse_conv(node, weight));
  if (!x.has_rank()) return Dims();
  std::vector<Dim> out(static_cast<size_t>(x.rank()));
  out[0] = (*x.shape)[0];
  if (weight.has_rank()) {
    out[1] = (*weight.shape)[0];
    OCTET_TRY(check_channels((*x.shape)[1], (*weight.shape)[1], out[1], node.attr_int("group", 1)));
  }
  if (!a) return Dims(std::move(out));
  const auto spatial = std::span(*x.shape).subspan(2);
  if (spatial.size() != a->window.spatial_rank())
    return error("{} spatial axes and a kernel of {}; make them agree", spatial.size(),
                 a->window.spatial_rank());
  const auto sizes = OCTET_TRY(window_sizes(a->window, spatial));
  std::copy(sizes.begin(), sizes.end(), out.begin() + 2);
  return Dims(std::move(out));
}

Result<ConvSizes> conv_sizes(const Node& node,
                             std::span<const int64_t> x,
                             std::span<const int64_t> w,
                             std::span<const int64_t> y) {
  const auto a = OCTET_TRY(parse_conv(node, tensor_type(DType::kFloat32, w)));
  if (!a) return error("weights of shape {} have no kernel; use 3 to 5 axes", to_string(w));
  return ConvSizes{x[0], x[1], y[1], a->group, window3(a->window, x.subspan(2), y.subspan(2))};
}

} // namespace octet
