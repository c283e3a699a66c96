// SPDX-License-Identifier: Apache-2.0
#include "targets/certify/products.h"

#include <algorithm>
#include <cmath>

#include "ops/window.h"
#include "targets/checks.h"

namespace octet {

namespace {

/// Bounds of what the producer of a real value emits.
std::pair<double, double> real_bounds(const Graph& graph, ValueId real) {
  constexpr double kNone = 1e30;
  const Node* node = graph.producer(real);
  if (node == nullptr) return {-kNone, kNone};
  if (node->is("Relu")) return {0, kNone};
  if (node->is("Softmax") || node->is("Sigmoid") || node->is("HardSigmoid")) return {0, 1};
  if (!node->is("Clip")) return {-kNone, kNone};
  const auto bound = [&](size_t input, double otherwise) {
    const Tensor* t = graph.constant(node->input(input));
    return t != nullptr && t->count() == 1 ? t->at(0) : otherwise;
  };
  return {bound(1, -kNone), bound(2, kNone)};
}

const Tensor* one_element(const Graph& graph, ValueId id) {
  const Tensor* t = id.valid() ? graph.constant(id) : nullptr;
  return t != nullptr && t->count() == 1 ? t : nullptr;
}

/// The activation's side: false where it is no per-tensor 8-bit code.
bool read_activation(const Graph& graph, const Node& dq, StoredProduct& out) {
  out.activation = dq.input(0);
  const DType type = graph.value(out.activation).type.type;
  const Tensor* scale = one_element(graph, dq.input(1));
  const Tensor* zero = one_element(graph, dq.input(2));
  if ((type != DType::kInt8 && type != DType::kUint8) || scale == nullptr) return false;
  if (dq.input(2).valid() && zero == nullptr) return false;
  out.offset = type == DType::kInt8 ? 128 : 0;
  out.zero = (zero != nullptr ? static_cast<int32_t>(zero->at(0)) : 0) + out.offset;
  const Node* q = graph.producer(out.activation);
  if (q == nullptr || !is_quantize(*q)) return true;
  const auto [low, high] = real_bounds(graph, q->input(0));
  const auto code = [&](double real) {
    return static_cast<int32_t>(
        std::clamp(std::nearbyint(real / scale->at(0)) + out.zero, 0.0, 255.0));
  };
  out.lowest = code(low);
  out.highest = code(high);
  return true;
}

/// Shape of the weight tensor as the node reads it.
Shape weight_shape(const Graph& graph, const StoredProduct& product) {
  return graph.value(graph.node(product.weight_dq).output(0)).type.static_shape().value_or(Shape{});
}

const Tensor* stored_codes(const Graph& graph, const Node& dq) {
  const Tensor* codes = graph.constant(dq.input(0));
  const Tensor* zero = dq.input(2).valid() ? graph.constant(dq.input(2)) : nullptr;
  if (codes == nullptr || codes->type() != DType::kInt8) return nullptr;
  if (dq.input(2).valid() && zero == nullptr) return nullptr;
  for (int64_t i = 0; zero != nullptr && i < zero->count(); ++i)
    if (zero->at(i) != 0) return nullptr; // such weights take another path: both sides uint8
  return codes;
}

bool read_weights(const Graph& graph, const Node& node, StoredProduct& out) {
  const Tensor* codes = stored_codes(graph, graph.node(out.weight_dq));
  const Shape shape = weight_shape(graph, out);
  if (codes == nullptr || codes->shape() != shape) return false;
  if (node.is("Conv")) {
    if (shape.size() < 3 || shape.size() > 5) return false;
    out.groups = node.attr_int("group", 1);
    out.channels = shape[0];
    out.terms = 1;
    for (size_t i = 1; i < shape.size(); ++i)
      out.terms *= shape[i];
    if (out.groups < 1 || out.channels % out.groups != 0) return false;
  } else {
    if (shape.size() != 2 || node.attr_int("transA", 0) != 0) return false;
    const bool rows = node.attr_int("transB", 0) != 0;
    out.channels = shape[rows ? 0 : 1];
    out.terms = shape[rows ? 1 : 0];
  }
  const auto all = codes->data<int8_t>();
  out.weights.resize(static_cast<size_t>(out.channels * out.terms));
  for (int64_t o = 0; o < out.channels; ++o)
    for (int64_t k = 0; k < out.terms; ++k)
      out.weights[static_cast<size_t>(o * out.terms + k)] =
          all[static_cast<size_t>(weight_index(graph, out, o, k))];
  return true;
}

} // namespace

std::vector<StoredProduct> find_stored_products(const Graph& graph) {
  std::vector<StoredProduct> out;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!node.is("Conv") && !node.is("Gemm") && !node.is("MatMul")) continue;
    const Node* x = graph.producer(node.input(0));
    const Node* w = graph.producer(node.input(1));
    if (x == nullptr || w == nullptr || !is_dequantize(*x) || !is_dequantize(*w)) continue;
    StoredProduct product;
    product.node = id;
    product.weight_dq = w->id;
    if (read_activation(graph, *x, product) && read_weights(graph, node, product))
      out.push_back(std::move(product));
  }
  return out;
}

int64_t
weight_index(const Graph& graph, const StoredProduct& product, int64_t channel, int64_t term) {
  const Node& node = graph.node(product.node);
  if (!node.is("Conv"))
    return node.attr_int("transB", 0) != 0 ? channel * product.terms + term
                                           : term * product.channels + channel;
  const int64_t depth = weight_shape(graph, product)[1];
  const int64_t taps = product.terms / depth;
  return channel * product.terms + (term % depth) * taps + term / depth;
}

namespace {

uint8_t as_uint8(const Tensor& codes, int64_t index, int32_t offset) {
  const auto raw = codes.bytes()[static_cast<size_t>(index)];
  const int32_t code = offset != 0 ? static_cast<int8_t>(raw) : static_cast<uint8_t>(raw);
  return static_cast<uint8_t>(code + offset);
}

Positions gather_rows(const StoredProduct& p, const Tensor& codes, int64_t limit) {
  Positions out;
  const int64_t rows = codes.count() / p.terms;
  out.count = std::min(rows, limit);
  for (int64_t i = 0; i < out.count; ++i)
    for (int64_t k = 0; k < p.terms; ++k)
      out.codes.push_back(as_uint8(codes, i * rows / out.count * p.terms + k, p.offset));
  return out;
}

} // namespace

Result<Positions>
gather_positions(const Graph& graph, const StoredProduct& p, const Tensor& codes, int64_t limit) {
  const Node& node = graph.node(p.node);
  if (codes.count() == 0) return Positions{};
  if (!node.is("Conv")) return gather_rows(p, codes, limit);
  const Shape weight = weight_shape(graph, p);
  const Shape& x = codes.shape();
  const auto attrs = OCTET_TRY(parse_window(node, {weight.begin() + 2, weight.end()}));
  const std::vector<Dim> spatial(x.begin() + 2, x.end());
  std::vector<int64_t> sizes;
  for (const Dim& d : OCTET_TRY(window_sizes(attrs, spatial)))
    sizes.push_back(d.maybe_value().value_or(0));
  const Window3 g = window3(attrs, std::span(x).subspan(2), sizes);
  const int64_t depth = weight[1], total = x[0] * g.out_count();
  Positions out;
  out.count = std::min(total, limit);
  for (int64_t i = 0; i < out.count; ++i) {
    const int64_t at = i * total / out.count, image = at / g.out_count(), o = at % g.out_count();
    const int64_t place[3] = {o / (g.out[1] * g.out[2]), o / g.out[2] % g.out[1], o % g.out[2]};
    for (int64_t group = 0; group < p.groups; ++group)
      for (int64_t tap = 0; tap < g.kernel_count(); ++tap) {
        const int64_t k[3] = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1],
                              tap % g.kernel[2]};
        int64_t offset = 0;
        bool inside = true;
        for (size_t axis = 0; axis < 3; ++axis) {
          const int64_t c = place[axis] * g.stride[axis] + k[axis] * g.dilation[axis] - g.pad[axis];
          inside = inside && c >= 0 && c < g.in[axis];
          offset = offset * g.in[axis] + c;
        }
        for (int64_t c = 0; c < depth; ++c) {
          const int64_t plane = (image * x[1] + group * depth + c) * g.in_count();
          out.codes.push_back(inside ? as_uint8(codes, plane + offset, p.offset)
                                     : static_cast<uint8_t>(p.zero));
        }
      }
  }
  return out;
}

} // namespace octet
