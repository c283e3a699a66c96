// SPDX-License-Identifier: Apache-2.0
// How an operator runs in LibTorch, so that autograd can differentiate it. A mapping is made once
// for each node (`prepare`, which reads attributes) and called at each run (`Apply`). Files of this
// folder include only ATen/core/Tensor.h and the ATen/ops headers they need: each costs seconds.
// A mapping reports a problem with TORCH_CHECK; the executor catches it and names the node.
// A mapping that returns an empty Apply declines: that node runs by its reference, on the CPU and
// without a gradient, as operators marked OCTET_TORCH_REFERENCE always do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "octet/graph.h"

namespace octet::train {

class Fp8Layer;

/// What a mapping may ask while it is prepared.
struct Prepare {
  const Graph& graph;
  const Node& node;
  int64_t version; ///< of the operator set

  bool has(size_t i) const { return node.input(i).valid(); }
  /// The element type of an input as inferred; kUndefined when it is not known.
  DType type(size_t i) const {
    return has(i) ? graph.value(node.inputs[i]).type.type : DType::kUndefined;
  }
  DType output_type(size_t i = 0) const {
    return node.output(i).valid() ? graph.value(node.outputs[i]).type.type : DType::kUndefined;
  }
  /// The rank of an input as inferred, or -1.
  int64_t rank(size_t i) const {
    if (!has(i) || !graph.value(node.inputs[i]).type.has_rank()) return -1;
    return graph.value(node.inputs[i]).type.rank();
  }
  const octet::Tensor* constant(size_t i) const {
    return has(i) ? graph.constant(node.inputs[i]) : nullptr;
  }
  /// The one number that a constant input holds: no run has to read it from a device.
  std::optional<double> number(size_t i) const {
    const octet::Tensor* t = constant(i);
    return t != nullptr && t->count() == 1 ? std::optional(t->at(0)) : std::nullopt;
  }
};

/// What is the same for all nodes of one run.
struct RunState {
  bool training = false;          ///< dropout drops, batch norm uses and updates batch statistics
  bool freeze_statistics = false; ///< batch norm keeps its running statistics while training
  uint64_t seed = 0, step = 0;    ///< what random numbers depend on, with the node
  bool starts_scales = false;     ///< scales that LSQ trains are set by what they meet
};

/// The inputs and outputs of one node in one run.
class Call {
 public:
  Call(std::vector<at::Tensor>& slots,
       std::span<const int> inputs,
       std::span<const int> outputs,
       int node,
       const RunState& run,
       const Fp8Layer* fp8 = nullptr)
      : slots_(slots), inputs_(inputs), outputs_(outputs), node_(node), run_(run), fp8_(fp8) {}

  size_t inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] >= 0; }
  const at::Tensor& in(size_t i) const { return slots_[static_cast<size_t>(inputs_[i])]; }
  bool wants(size_t i) const { return i < outputs_.size() && outputs_[i] >= 0; }
  void out(at::Tensor value, size_t i = 0) {
    if (wants(i)) slots_[static_cast<size_t>(outputs_[i])] = std::move(value);
  }
  /// The elements of an integer input (it is on the CPU unless it was computed from data).
  std::vector<int64_t> ints(size_t i) const;
  /// The one element of an input; `known` where it was while the mapping was prepared.
  double number(size_t i, std::optional<double> known) const { return known ? *known : number(i); }
  double number(size_t i) const;
  /// A new value for a running statistic that comes as input `i`.
  void update(size_t i, at::Tensor value) {
    slots_[static_cast<size_t>(inputs_[i])] = std::move(value);
  }
  const RunState& run() const { return run_; }
  int node() const { return node_; }
  /// What computes the product of a layer that is trained in FP8; null: LibTorch.
  const Fp8Layer* fp8() const { return fp8_; }

 private:
  std::vector<at::Tensor>& slots_;
  std::span<const int> inputs_, outputs_;
  int node_;
  const RunState& run_;
  const Fp8Layer* fp8_;
};

using Apply = std::function<void(Call&)>;

struct TorchOp {
  Apply (*prepare)(const Prepare&); ///< null: runs by its reference
};

/// The LibTorch type of an element type. Types of less than 8 bits are held one
/// element (or code) a byte.
at::ScalarType scalar_type(DType type);
bool has_scalar_type(DType type);
/// `axis` counted from the front; TORCH_CHECKs its range.
int64_t wrap_axis(int64_t axis, int64_t rank);
/// Explicit padding of the `count` spatial axes for kernel, stride and dilation: begins, then ends.
std::vector<int64_t> resolve_pads(const Node& node,
                                  std::span<const int64_t> sizes,
                                  std::span<const int64_t> kernel,
                                  std::span<const int64_t> strides,
                                  std::span<const int64_t> dilations);
/// `values`, or `count` times `otherwise` when the attribute is absent.
std::vector<int64_t> ints_or(std::vector<int64_t> values, size_t count, int64_t otherwise);
/// Pads in the order of at::constant_pad_nd (last axis first) from ONNX's begins and ends.
std::vector<int64_t> torch_pads(std::span<const int64_t> pads);

} // namespace octet::train

#define OCTET_TORCH(domain, Name)                                                                  \
  static ::octet::train::Apply prepare_##domain##_##Name(const ::octet::train::Prepare&);          \
  extern const ::octet::train::TorchOp torch_##domain##_##Name;                                    \
  const ::octet::train::TorchOp torch_##domain##_##Name{prepare_##domain##_##Name};                \
  static ::octet::train::Apply prepare_##domain##_##Name(                                          \
      [[maybe_unused]] const ::octet::train::Prepare& p)

/// Runs by the reference evaluator on the CPU; no gradient passes.
#define OCTET_TORCH_REFERENCE(domain, Name)                                                        \
  extern const ::octet::train::TorchOp torch_##domain##_##Name;                                    \
  const ::octet::train::TorchOp torch_##domain##_##Name{nullptr};

/// An operator that is one function of one tensor.
#define OCTET_TORCH_UNARY(Name, expression)                                                        \
  OCTET_TORCH(onnx, Name) {                                                                        \
    return [](::octet::train::Call& c) {                                                           \
      const at::Tensor& x = c.in(0);                                                               \
      c.out(expression);                                                                           \
    };                                                                                             \
  }
