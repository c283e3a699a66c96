// SPDX-License-Identifier: Apache-2.0
// bind_inputs: from the features of a batch to the inputs of a graph.
#include "data/bind.h"

#include <algorithm>

#include "core/convert.h"
#include "core/format.h"
#include "ops/only_batch.h"

#include "octet/dataset.h"

namespace octet {
namespace {

std::string type_text(const Tensor& tensor) {
  return std::string(name(tensor.type())) + to_string(tensor.shape());
}

/// An example alone may be the whole input: a scalar, or a state whose first axis is no batch.
bool is_whole(const TypeInfo& input, int64_t rank_of_batch) {
  return input.has_rank() && rank_of_batch == input.rank() + 1;
}

/// Images [N, H, W] for an input [N, 1, H, W].
bool lacks_channel(const TypeInfo& input, const Tensor& batch) {
  return input.has_rank() && input.rank() == 4 && batch.rank() == 3 &&
         (*input.shape)[1].maybe_value() == 1;
}

Result<Tensor> bind_one(const Value& input, const std::string& feature, const Tensor& given) {
  Tensor tensor = given;
  if (is_whole(input.type, given.rank()) && given.dim(0) == 1) {
    Shape shape(given.shape().begin() + 1, given.shape().end());
    tensor = OCTET_TRY(given.reshaped(std::move(shape)));
  }
  if (lacks_channel(input.type, given))
    tensor = OCTET_TRY(given.reshaped({given.dim(0), 1, given.dim(1), given.dim(2)}));
  const auto fail = [&](const std::string& why) {
    return error("feature \"{}\" {} does not fit input \"{}\" {}: {}", feature, type_text(tensor),
                 input.name, input.type.text(), why);
  };
  if (input.type.has_rank()) {
    const std::vector<Dim>& dims = *input.type.shape;
    if (static_cast<int64_t>(dims.size()) != tensor.rank())
      return fail(fmt::format("the ranks are {} and {}{}", tensor.rank(), dims.size(),
                              tensor.rank() == input.type.rank() + 1
                                  ? "; where an example is the whole input use batches of one"
                                  : ""));
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const auto fixed = dims[axis].maybe_value();
      if (!fixed || *fixed == tensor.shape()[axis]) continue;
      const char* way_out = axis == 0 ? "; use batches of that size, or a model with a free first "
                                        "dimension"
                                      : "; prepare the data in that shape";
      return fail(fmt::format("dimension {} is {}, the model wants {}{}", axis,
                              tensor.shape()[axis], *fixed, way_out));
    }
  }
  Result<Tensor> out =
      input.type.type == DType::kUndefined ? tensor : converted(tensor, input.type.type);
  if (!out.ok()) return fail(out.error().text() + "; convert the data before");
  return out;
}

/// For each input the index of its feature, or -1. `features`: names, each with something.
template <class Features>
std::vector<int> match(const Graph& graph, const Features& features) {
  std::vector<int> feature_of(graph.inputs().size(), -1);
  std::vector<bool> taken(features.size(), false);
  for (size_t i = 0; i < feature_of.size(); ++i) {
    for (size_t f = 0; f < taken.size() && feature_of[i] < 0; ++f) {
      if (taken[f] || features[f].first != graph.value(graph.inputs()[i]).name) continue;
      feature_of[i] = static_cast<int>(f);
      taken[f] = true;
    }
  }
  const auto open_inputs = std::count(feature_of.begin(), feature_of.end(), -1);
  if (open_inputs != std::count(taken.begin(), taken.end(), false)) return feature_of;
  size_t next = 0;
  for (int& feature : feature_of) {
    if (feature >= 0) continue;
    while (taken[next])
      ++next;
    taken[next] = true;
    feature = static_cast<int>(next);
  }
  return feature_of;
}

/// Whether the inputs have no axis for examples: each has one axis less than a batch.
bool has_whole_examples(const Graph& graph, const Dataset& data) {
  const auto& features = data.features();
  const std::vector<int> feature_of = match(graph, features);
  bool any = false;
  for (size_t i = 0; i < feature_of.size(); ++i) {
    const TypeInfo& input = graph.value(graph.inputs()[i]).type;
    if (feature_of[i] < 0 || (input.has_rank() && input.rank() == 0)) continue;
    any = true;
    const TypeInfo& feature = features[static_cast<size_t>(feature_of[i])].second;
    if (!feature.has_rank() || !is_whole(input, feature.rank())) return false;
  }
  return any;
}

} // namespace

Result<Tensor> converted(const Tensor& tensor, DType type) {
  if (tensor.type() == type) return tensor;
  Tensor out = OCTET_TRY(Tensor::zeros(type, tensor.shape()));
  bool exact = true;
  if (is_float(tensor.type())) {
    const std::vector<double> values = OCTET_TRY(tensor.to_doubles());
    OCTET_TRY(write_doubles(type, values, out.mutable_bytes()));
    exact = is_float(type) || OCTET_TRY(out.to_doubles()) == values;
  } else {
    const std::vector<int64_t> values = OCTET_TRY(tensor.to_ints());
    OCTET_TRY(write_ints(type, values, out.mutable_bytes()));
    exact = OCTET_TRY(out.to_ints()) == values;
  }
  if (exact) return out;
  return error("values of type {} do not fit into {}", name(tensor.type()), name(type));
}

int64_t batch_for(const Graph& graph, int64_t wanted) {
  return only_batch(graph).value_or(std::max<int64_t>(wanted, 1));
}

int64_t batch_for(const Graph& graph, const Dataset& data, int64_t wanted) {
  return has_whole_examples(graph, data) ? 1 : batch_for(graph, wanted);
}

Result<std::vector<Tensor>> bind_inputs(const Graph& graph, const Batch& batch) {
  const std::vector<int> feature_of = match(graph, batch.inputs);
  std::vector<Tensor> out;
  for (size_t i = 0; i < feature_of.size(); ++i) {
    const Value& input = graph.value(graph.inputs()[i]);
    if (feature_of[i] < 0) {
      std::string given;
      for (const auto& entry : batch.inputs)
        given += (given.empty() ? "" : ", ") + entry.first;
      return error("the model's input \"{}\" {} has no feature of that name among {}; name the "
                   "features like the inputs, or where a state begins at zero use --zeros",
                   input.name, input.type.text(), given);
    }
    const auto& [feature, tensor] = batch.inputs[static_cast<size_t>(feature_of[i])];
    out.push_back(OCTET_TRY(bind_one(input, feature, tensor)));
  }
  return out;
}

} // namespace octet
