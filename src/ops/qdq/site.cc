// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/site.h"

#include <cmath>

#include "ops/evaluate.h"

namespace octet::qdq {

namespace {

/// The type of codes without a zero point.
DType implied_type(const Graph& graph, const Node& node) {
  if (is_dequantize(node)) return graph.value(node.input(0)).type.type;
  const auto said = static_cast<DType>(node.attr_int("output_dtype", 0));
  return said == DType::kUndefined ? DType::kUint8 : said;
}

bool has_shape_for(const Tensor& scale, const Reading& reading) {
  if (reading.most == Reading::Most::kAny) return true;
  return reading.most == Reading::Most::kTensor ? scale.count() == 1 : scale.rank() <= 1;
}

std::optional<WhyNot> fault_of(const Grid& grid, const Reading& reading) {
  if (reading.byte_codes && !is_byte(grid.codes)) return WhyNot::kCodesType;
  if (reading.usable_scales && !grid.is_usable()) return WhyNot::kScaleNotUsable;
  for (int64_t c = 0; reading.positive_scales && c < grid.count(); ++c)
    if (!(grid.scale_at(c) > 0) || std::isinf(grid.scale_at(c))) return WhyNot::kScaleNotUsable;
  if (reading.known_axis && !grid.per_tensor() && !grid.axis) return WhyNot::kAxis;
  return std::nullopt;
}

std::optional<int64_t> normalized(int64_t axis, const TypeInfo& type) {
  if (!type.has_rank()) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.rank());
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? std::optional(axis) : std::nullopt;
}

std::optional<Tensor> parameter(const Graph& graph, ValueId id, const Reading& reading) {
  if (reading.folded) return constant_value(graph, id);
  const Tensor* stored = graph.constant(id);
  return stored == nullptr ? std::nullopt : std::optional(*stored);
}

/// In the shape of the scales, where there are as many.
Found<Tensor> shaped_zero(const Tensor& zero, const Tensor& scale, const Reading& reading) {
  if (zero.count() == 1 && reading.lone_zero) return zero;
  if (zero.count() != scale.count()) return WhyNot::kZeroCount;
  if (!has_shape_for(zero, reading)) return WhyNot::kGranularity;
  return zero.reshaped(scale.shape()).value();
}

/// Types, counts and shapes of scale and zero point.
Found<Grid> numbers_of(const Graph& graph, const Node& node, const Written& w, const Reading& r) {
  const auto scale = parameter(graph, w.scale, r);
  if (!scale) return WhyNot::kScaleComputed;
  const auto zero = w.zero.valid() ? parameter(graph, w.zero, r) : std::nullopt;
  if (w.zero.valid() && !zero) return WhyNot::kZeroComputed;
  if (!zero && r.written_zero) return WhyNot::kZeroMissing;
  if (scale->count() == 0) return WhyNot::kScaleEmpty;
  if (!is_float(scale->type()) || (r.f32_scale && scale->type() != DType::kFloat32))
    return WhyNot::kScaleType;
  if (!has_shape_for(*scale, r) || (r.most == Reading::Most::kAxis && w.block != 0))
    return WhyNot::kGranularity;
  Grid out;
  out.scale = *scale;
  out.codes = implied_type(graph, node);
  if (zero) {
    out.codes = zero->type();
    auto shaped = shaped_zero(*zero, *scale, r);
    if (!shaped) return shaped.why();
    out.zero = std::move(*shaped);
  }
  if (out.codes == DType::kUndefined) return WhyNot::kCodesType;
  out.block = w.block;
  if (!out.per_tensor()) {
    out.axis_written = w.axis;
    out.axis = normalized(w.axis, graph.value(w.codes).type);
  }
  return out;
}

} // namespace

std::string_view text(WhyNot why) {
  switch (why) {
  case WhyNot::kNotQdq:
    return "is no QuantizeLinear or DequantizeLinear";
  case WhyNot::kOtherDomain:
    return "is of com.microsoft";
  case WhyNot::kScaleComputed:
    return "its scale is computed";
  case WhyNot::kZeroComputed:
    return "its zero point is computed";
  case WhyNot::kZeroMissing:
    return "it has no zero point";
  case WhyNot::kScaleEmpty:
    return "it has no scale";
  case WhyNot::kScaleType:
    return "its scale is of another type";
  case WhyNot::kCodesType:
    return "its codes are of another type";
  case WhyNot::kZeroCount:
    return "it has another number of zero points than of scales";
  case WhyNot::kGranularity:
    return "its scales are of several axes or of blocks";
  case WhyNot::kAxis:
    return "its axis is none of the tensor's";
  case WhyNot::kScaleNotUsable:
    return "one of its scales is not positive, finite and normal";
  case WhyNot::kSeveralZeros:
    return "its zero points differ";
  case WhyNot::kOutOfInt8:
    return "its codes less the zero point leave int8";
  case WhyNot::kCodesComputed:
    return "its codes are computed";
  case WhyNot::kOtherReaders:
    return "its codes are read by something else too";
  case WhyNot::kOtherGrid:
    return "Q and DQ do not say the same";
  }
  return "";
}

Written written(const Graph& graph, const Node& node) {
  Written out;
  if (!is_qdq(node)) return out;
  const bool quantizes = is_quantize(node);
  out.real = quantizes ? node.input(0) : node.output(0);
  out.codes = codes_of_qdq(node);
  out.scale = node.input(1);
  out.zero = node.input(2);
  out.scales = graph.constant(out.scale);
  out.zeros = graph.constant(out.zero);
  if (out.codes.valid()) out.codes_type = graph.value(out.codes).type.type;
  out.has_axis = node.has_attr("axis");
  out.axis = node.attr_int("axis", 1);
  out.block = node.attr_int("block_size", 0);
  return out;
}

bool have_same_parameters(const Graph& graph, const Node& a, const Node& b) {
  const Written x = written(graph, a), y = written(graph, b);
  const auto same_bytes = [](ValueId p, const Tensor* tp, ValueId q, const Tensor* tq) {
    if (p == q) return true;
    return tp != nullptr && tq != nullptr && tp->identical(*tq);
  };
  return same_bytes(x.scale, x.scales, y.scale, y.scales) &&
         same_bytes(x.zero, x.zeros, y.zero, y.zeros);
}

Found<Site> read(const Graph& graph, const Node& node, const Reading& reading) {
  if (!is_qdq(node)) return WhyNot::kNotQdq;
  if (!reading.microsoft && !node.domain.empty()) return WhyNot::kOtherDomain;
  const Written w = written(graph, node);
  auto grid = numbers_of(graph, node, w, reading);
  if (!grid) return grid.why();
  if (const auto fault = fault_of(*grid, reading)) return *fault;
  return Site{node.id, is_quantize(node), w.real, w.codes, w.scale, w.zero, std::move(*grid)};
}

Found<Grid> grid_of(const Graph& graph, const Node& node, const Reading& reading) {
  auto site = read(graph, node, reading);
  if (!site) return site.why();
  return std::move(site->grid);
}

Found<Site> read_dequantize(const Graph& graph, ValueId real, const Reading& reading) {
  const Node* node = real.valid() ? graph.producer(real) : nullptr;
  if (node == nullptr || !is_dequantize(*node)) return WhyNot::kNotQdq;
  return read(graph, *node, reading);
}

Found<std::vector<const Node*>> dequantizers(const Graph& graph,
                                             std::span<const Uses::Use> readers,
                                             ValueId codes,
                                             const Grid& grid) {
  std::vector<const Node*> out;
  if (!codes.valid() || graph.is_output(codes) || readers.empty()) return WhyNot::kOtherReaders;
  for (const Uses::Use& use : readers) {
    const Node& reader = graph.node(use.node);
    if (!is_dequantize(reader) || use.input != 0) return WhyNot::kOtherReaders;
    const auto theirs = read(graph, reader);
    if (!theirs) return theirs.why();
    if (!same(theirs->grid, grid, Same::kNumbers)) return WhyNot::kOtherGrid;
    out.push_back(&reader);
  }
  return out;
}

} // namespace octet::qdq
