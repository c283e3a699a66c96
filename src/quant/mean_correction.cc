// SPDX-License-Identifier: Apache-2.0
#include "quant/mean_correction.h"

#include <algorithm>

#include "core/convert.h"
#include "core/format.h"
#include "core/pages.h"
#include "ops/shared/window.h"
#include "quant/qdq_writer.h"
#include "quant/scheme.h"

namespace octet {

namespace {

/// A weight as [a, b, taps]: which channels a pair (a, b) leads from and to.
struct Pairs {
  int64_t a = 1, b = 1, taps = 1;
  int64_t groups = 1;
  bool first_is_output = true;

  int64_t outputs() const { return first_is_output ? a : b; }
  int64_t inputs() const { return first_is_output ? b * groups : a; }
  int64_t output(int64_t i, int64_t j) const { return first_is_output ? i : j; }
  int64_t input(int64_t i, int64_t j) const {
    return first_is_output ? i / (a / groups) * b + j : i;
  }
};

std::optional<Pairs> pairs_of(const Node& product, const Tensor& w) {
  Pairs out;
  const bool conv = product.is("Conv");
  if (conv ? w.rank() < 3 : w.rank() != 2) return std::nullopt;
  out.a = w.dim(0);
  out.b = w.dim(1);
  for (int64_t d = 2; d < w.rank(); ++d)
    out.taps *= w.dim(d);
  out.first_is_output = conv || (product.is("Gemm") && product.attr_int("transB", 0) != 0);
  if (conv) out.groups = product.attr_int("group", 1);
  if (out.groups < 1 || (conv && out.a % out.groups != 0)) return std::nullopt;
  return out;
}

/// How much of the time each tap of a window lies inside the image: all of it where sizes are open.
std::vector<double> shares_inside(const Graph& graph, const Node& conv, const Tensor& w) {
  std::vector<int64_t> kernel;
  for (int64_t d = 2; d < w.rank(); ++d)
    kernel.push_back(w.dim(d));
  std::vector<double> shares = {1};
  const auto window = parse_window(conv, kernel);
  const auto& shape = graph.value(conv.input(0)).type.shape;
  std::vector<Dim> spatial;
  std::vector<int64_t> in;
  if (shape && shape->size() == kernel.size() + 2)
    for (size_t d = 2; d < shape->size(); ++d) {
      spatial.push_back((*shape)[d]);
      if (spatial.back().is_constant()) in.push_back(spatial.back().value());
    }
  const bool known = window.ok() && in.size() == kernel.size();
  const auto out = known ? window_sizes(*window, spatial) : Result<std::vector<Dim>>({});
  const std::vector<int64_t> pads = known ? resolve_pads(*window, in) : std::vector<int64_t>();
  for (size_t axis = 0; axis < kernel.size(); ++axis) {
    std::vector<double> of_axis(static_cast<size_t>(kernel[axis]), 1.0);
    if (known && out.ok() && (*out)[axis].is_constant() && (*out)[axis].value() > 0)
      for (size_t k = 0; k < of_axis.size(); ++k) {
        int64_t inside = 0;
        const int64_t places = (*out)[axis].value();
        for (int64_t o = 0; o < places; ++o) {
          const int64_t at = o * window->strides[axis] +
                             static_cast<int64_t>(k) * window->dilations[axis] - pads[axis];
          if (at >= 0 && at < in[axis]) ++inside;
        }
        of_axis[k] = static_cast<double>(inside) / static_cast<double>(places);
      }
    std::vector<double> all;
    for (const double outer : shares)
      for (const double inner : of_axis)
        all.push_back(outer * inner);
    shares = std::move(all);
  }
  return shares;
}

/// visit(number, code) of all elements in their order, in pieces: weights may be larger than memory.
template <class Visit>
Status each_pair(const Tensor& weight, const Tensor& codes, const Visit& visit) {
  constexpr auto kPiece = static_cast<int64_t>(kPieceBytes / sizeof(float));
  std::vector<float> values, coded;
  for (int64_t at = 0; at < weight.count(); at += kPiece) {
    const auto n = static_cast<size_t>(std::min(kPiece, weight.count() - at));
    values.resize(n);
    coded.resize(n);
    const auto piece_of = [&](const Tensor& tensor) {
      const auto bytes = [&](int64_t count) {
        return static_cast<size_t>(bytes_for(tensor.type(), count));
      };
      return tensor.bytes().subspan(bytes(at), bytes(static_cast<int64_t>(n)));
    };
    OCTET_TRY(read_floats(weight.type(), piece_of(weight), values));
    OCTET_TRY(read_floats(codes.type(), piece_of(codes), coded));
    for (size_t i = 0; i < n; ++i)
      visit(values[i], coded[i]);
  }
  return ok_status();
}

} // namespace

bool corrects_bias(const NodePlan& plan) {
  return plan.quantized && plan.rule == Placed::kProduct && plan.weight == 1 &&
         std::find(plan.inputs.begin(), plan.inputs.end(), 0) != plan.inputs.end();
}

std::optional<int64_t> summed_axis(const Graph& graph, const Node& product) {
  const Tensor* w = product.input(1).valid() ? graph.constant(product.input(1)) : nullptr;
  if (w == nullptr || !pairs_of(product, *w)) return std::nullopt;
  if (product.is("Conv")) return 1;
  if (product.is("MatMul")) return -1;
  const bool plain = product.is("Gemm") && product.attr_int("transA", 0) == 0 &&
                     product.attr_float("alpha", 1.0F) == 1.0F;
  return plain ? std::optional<int64_t>(-1) : std::nullopt;
}

Result<std::vector<float>> mean_error(const Graph& graph,
                                      const Node& product,
                                      const Tensor& codes,
                                      const TensorPlan& weight,
                                      std::span<const float> means) {
  const Tensor& w = *graph.constant(product.input(1));
  const auto pairs = pairs_of(product, w);
  if (!pairs) return error("weights of shape {} are no product's", to_string(w.shape()));
  if (std::ssize(means) != pairs->inputs())
    return error("the plan has the means of {} channels of \"{}\", and {} are read", means.size(),
                 graph.value(product.input(0)).name, pairs->inputs());
  std::vector<double> sums(static_cast<size_t>(pairs->outputs()));
  const bool plain =
      weight.block == 0 && weight.scheme.scale == DType::kFloat32 && weight.axis.value_or(0) < 2;
  if (plain) {
    const std::vector<double> shares =
        product.is("Conv") ? shares_inside(graph, product, w) : std::vector<double>{1};
    const std::vector<QuantParameters> parameters = parameters_for(weight.scheme, weight.ranges);
    int64_t i = 0, j = 0, tap = 0;
    OCTET_TRY(each_pair(w, codes, [&](float value, float code) {
      const int64_t channel = !weight.axis ? 0 : *weight.axis == 0 ? i : j;
      const QuantParameters& p = parameters[static_cast<size_t>(channel)];
      const double stored =
          (static_cast<double>(code) - p.zero_point) * static_cast<double>(p.scale);
      sums[static_cast<size_t>(pairs->output(i, j))] +=
          (static_cast<double>(value) - stored) * shares[static_cast<size_t>(tap)] *
          static_cast<double>(means[static_cast<size_t>(pairs->input(i, j))]);
      if (++tap < pairs->taps) return;
      tap = 0;
      if (++j < pairs->b) return;
      j = 0;
      ++i;
    }));
  }
  return std::vector<float>(sums.begin(), sums.end());
}

} // namespace octet
