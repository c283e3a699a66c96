// SPDX-License-Identifier: Apache-2.0
// Einsum (opset 12, 28). y[output labels] = sum over the other labels of the product of the
// operands, in NumPy's notation with `...` and with an implicit output. Dimensions of 1 broadcast.
#include <algorithm>
#include <map>

#include "core/codec.h"
#include "core/convert.h"
#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Einsum {
namespace {

/// A letter, or -k for the k-th axis from the end under an ellipsis.
using Labels = std::vector<int>;

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// `hidden`: axes that the ellipsis stands for.
Result<Labels> parse_term(std::string_view term, int64_t hidden) {
  Labels out;
  for (size_t i = 0; i < term.size(); ++i) {
    if (is_letter(term[i])) {
      out.push_back(term[i]);
    } else if (term.substr(i, 3) == "...") {
      for (int64_t k = hidden; k > 0; --k)
        out.push_back(static_cast<int>(-k));
      i += 2;
    } else {
      return error("equation: \"{}\" is no letter; use letters, commas, ... and ->", term[i]);
    }
  }
  return out;
}

int64_t letters(std::string_view term) {
  return std::count_if(term.begin(), term.end(), is_letter);
}

/// Without `->`: the hidden axes, then the labels that occur once, sorted.
Labels implicit_output(const std::vector<Labels>& inputs) {
  std::map<int, int> count;
  for (const Labels& labels : inputs)
    for (int label : labels)
      ++count[label];
  Labels out;
  for (const auto& [label, times] : count)
    if (label < 0 || times == 1) out.push_back(label);
  return out;
}

Result<Equation> parse(std::string equation, std::span<const int64_t> ranks) {
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  std::string_view left = std::string_view(equation).substr(0, arrow);
  Equation e;
  int64_t most_hidden = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const size_t comma = left.find(',');
    const std::string_view term = left.substr(0, comma);
    if ((comma == std::string_view::npos) != (i + 1 == ranks.size()))
      return error("equation \"{}\" does not have {} terms; give one for each input", equation,
                   ranks.size());
    const int64_t hidden =
        term.find("...") == std::string_view::npos ? 0 : ranks[i] - letters(term);
    const auto labels = OCTET_TRY(parse_term(term, std::max<int64_t>(hidden, 0)));
    if (static_cast<int64_t>(labels.size()) != ranks[i])
      return error("equation: term {} has {} labels for rank {}; name every axis", i, labels.size(),
                   ranks[i]);
    most_hidden = std::max(most_hidden, hidden);
    e.inputs.push_back(labels);
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  if (arrow == std::string::npos)
    e.output = implicit_output(e.inputs);
  else
    e.output = OCTET_TRY(parse_term(std::string_view(equation).substr(arrow + 2), most_hidden));
  return e;
}

Result<std::map<int, Dim>> label_sizes(const Equation& e, const InferContext& c) {
  std::map<int, Dim> sizes;
  for (size_t i = 0; i < e.inputs.size(); ++i)
    for (size_t k = 0; k < e.inputs[i].size(); ++k) {
      const Dim& d = (*c.input(i).type.shape)[k];
      const auto [at, fresh] = sizes.emplace(e.inputs[i][k], d);
      if (fresh || d == Dim(1)) continue;
      at->second =
          at->second == Dim(1) ? d : OCTET_TRY(merge_dims(at->second, d, "sizes of one label"));
    }
  return sizes;
}

Result<Equation> equation_of(const InferContext& c) {
  std::vector<int64_t> ranks;
  for (const InputInfo& in : c.inputs)
    ranks.push_back(in.type.rank());
  return parse(c.node.attr_string("equation", ""), ranks);
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 64));
  for (size_t i = 0; i < c.inputs.size(); ++i)
    OCTET_TRY(check_input(c, i, kNumericTypes));
  const DType type = OCTET_TRY(common_type(c, 0, c.inputs.size() - 1));
  for (const InputInfo& in : c.inputs)
    if (!in.type.has_rank()) return one(type, std::nullopt);
  const Equation e = OCTET_TRY(equation_of(c));
  const auto sizes = OCTET_TRY(label_sizes(e, c));
  std::vector<Dim> shape;
  for (int label : e.output) {
    const auto found = sizes.find(label);
    if (found == sizes.end() || std::count(e.output.begin(), e.output.end(), label) > 1)
      return error("equation: an output label occurs twice or in no term");
    shape.push_back(found->second);
  }
  return one(type, std::move(shape));
}

/// Offsets in an operand for every combination of `labels`, the last one fastest.
std::vector<int64_t> offsets(const Tensor& x,
                             const Labels& own,
                             const Labels& labels,
                             const std::map<int, int64_t>& sizes) {
  const Shape steps = strides_of(x.shape());
  Shape shape, strides;
  for (int label : labels) {
    int64_t stride = 0;
    for (size_t k = 0; k < own.size(); ++k)
      if (own[k] == label && x.shape()[k] != 1) stride += steps[k];
    shape.push_back(sizes.at(label));
    strides.push_back(stride);
  }
  return strided_index(shape, strides);
}

template <class T>
std::vector<T> contract(const std::vector<std::vector<T>>& x,
                        const std::vector<std::vector<int64_t>>& outer,
                        const std::vector<std::vector<int64_t>>& inner) {
  std::vector<T> y(outer[0].size());
  for (size_t o = 0; o < y.size(); ++o)
    for (size_t r = 0; r < inner[0].size(); ++r) {
      T term = 1;
      for (size_t i = 0; i < x.size(); ++i)
        term *= x[i][static_cast<size_t>(outer[i][o] + inner[i][r])];
      y[o] += term;
    }
  return y;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  std::vector<int64_t> ranks;
  for (const Tensor& x : c.inputs)
    ranks.push_back(x.rank());
  const Equation e = OCTET_TRY(parse(c.node.attr_string("equation", ""), ranks));
  std::map<int, int64_t> sizes;
  Labels summed;
  for (size_t i = 0; i < e.inputs.size(); ++i)
    for (size_t k = 0; k < e.inputs[i].size(); ++k) {
      const int label = e.inputs[i][k];
      const auto [at, fresh] = sizes.emplace(label, c.inputs[i].dim(static_cast<int64_t>(k)));
      if (!fresh && at->second == 1) at->second = c.inputs[i].dim(static_cast<int64_t>(k));
      if (fresh && std::find(e.output.begin(), e.output.end(), label) == e.output.end())
        summed.push_back(label);
    }
  std::vector<std::vector<int64_t>> outer, inner;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    outer.push_back(offsets(c.inputs[i], e.inputs[i], e.output, sizes));
    inner.push_back(offsets(c.inputs[i], e.inputs[i], summed, sizes));
  }
  const DType type = outputs[0].type.type;
  if (is_float(type)) {
    std::vector<std::vector<double>> x;
    for (const Tensor& t : c.inputs)
      x.push_back(OCTET_TRY(t.to_doubles()));
    return one(OCTET_TRY(rounded(type, shape, contract(x, outer, inner))));
  }
  std::vector<std::vector<uint64_t>> x; // integers wrap
  for (const Tensor& t : c.inputs) {
    const auto v = OCTET_TRY(t.to_ints());
    x.emplace_back(v.begin(), v.end());
  }
  const auto sums = contract(x, outer, inner);
  Tensor y = OCTET_TRY(Tensor::zeros(type, shape));
  OCTET_TRY(write_ints(type, std::vector<int64_t>(sums.begin(), sums.end()), y.mutable_bytes(),
                       Saturate::kNo));
  return one(std::move(y));
}

Role roles(const Node&, size_t) {
  return Role::kWeight;
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("write the product as MatMul to quantize it");
}

} // namespace

extern const OpFacets facets = {
    .since = 12,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .unchanged = true},
};

} // namespace octet::onnx::op_Einsum
