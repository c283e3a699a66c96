// SPDX-License-Identifier: Apache-2.0
// Looks a node up among those kernels of ONNX Runtime whose types depend on each other.
#include <algorithm>
#include <charconv>
#include <vector>

#include "targets/onnxruntime/kernels.h"

namespace octet {

namespace {

/// The types of a kernel's inputs, then of its outputs.
struct JointKernel {
  std::vector<std::string_view> parts;
  size_t inputs = 0;
  bool repeats = false; ///< the last input
};

JointKernel read_kernel(std::string_view outputs) {
  JointKernel out;
  std::string_view inputs = next_part(outputs, '>');
  out.repeats = inputs.ends_with('+');
  if (out.repeats) inputs.remove_suffix(1);
  while (!inputs.empty())
    out.parts.push_back(next_part(inputs, ','));
  out.inputs = out.parts.size();
  while (!outputs.empty())
    out.parts.push_back(next_part(outputs, ','));
  return out;
}

/// The first position of a node that a kernel does not take.
class KernelMatch {
 public:
  KernelMatch(const Graph& graph, const Node& node, bool half_as_float)
      : graph_(graph), node_(node), half_as_float_(half_as_float) {}

  std::optional<TypeFault> fault(const JointKernel& kernel) const {
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (i >= kernel.inputs && !kernel.repeats) break;
      if (!takes(kernel, std::min(i, kernel.inputs - 1), type(node_.inputs[i])))
        return TypeFault{true, i, graph_.value(node_.inputs[i]).type.type};
    }
    for (size_t k = 0; k < node_.outputs.size() && kernel.inputs + k < kernel.parts.size(); ++k)
      if (!takes(kernel, kernel.inputs + k, type(node_.outputs[k])))
        return TypeFault{false, k, graph_.value(node_.outputs[k]).type.type};
    return std::nullopt;
  }

 private:
  DType type(ValueId value) const {
    const DType out = value.valid() ? graph_.value(value).type.type : DType::kUndefined;
    return half_as_float_ && out == DType::kFloat16 ? DType::kFloat32 : out;
  }

  DType type_at(const JointKernel& kernel, size_t position) const {
    return position < kernel.inputs ? type(node_.input(position))
                                    : type(node_.output(position - kernel.inputs));
  }

  bool takes(const JointKernel& kernel, size_t position, DType type) const {
    const std::string_view part = kernel.parts[position];
    if (type == DType::kUndefined || part == "?") return true;
    size_t same = 0;
    const auto number = std::from_chars(part.data(), part.data() + part.size(), same);
    if (number.ec == std::errc{}) {
      const DType other = type_at(kernel, same);
      return other == DType::kUndefined ? takes(kernel, same, type) : other == type;
    }
    return std::any_of(part.begin(), part.end(),
                       [&](char letter) { return type_of_letter(letter) == type; });
  }

  const Graph& graph_;
  const Node& node_;
  bool half_as_float_;
};

/// The lines of a node's operator, types alone: of ai.onnx those of the newest version that the
/// operator set has.
std::vector<std::string_view> kernels_of(const Node& node, int64_t opset) {
  const bool standard = node.domain.empty();
  std::vector<std::string_view> out;
  std::string_view lines = standard ? onnxruntime_joint_kernels() : onnxruntime_microsoft_kernels();
  std::string_view newest;
  while (!lines.empty()) {
    std::string_view line = next_part(lines, '\n');
    if (next_part(line, ' ') != node.op_type) continue;
    if (standard) {
      const std::string_view since = next_part(line, ' ');
      if (table_number(since) > opset) continue;
      if (since != newest) out.clear();
      newest = since;
    }
    out.push_back(line);
  }
  return out;
}

size_t place(const TypeFault& fault) {
  return fault.index + (fault.is_input ? 0 : 1000);
}

} // namespace

std::optional<KernelFault> joint_kernel_fault(const Graph& graph, const Node& node) {
  KernelFault worst;
  bool found = false;
  for (std::string_view line : kernels_of(node, graph.opset(node.domain))) {
    found = true;
    const JointKernel kernel = read_kernel(line);
    // What has no kernel for f16 is computed in f32, between casts that it puts in by itself.
    const auto fault = KernelMatch(graph, node, false).fault(kernel);
    if (!fault || !KernelMatch(graph, node, true).fault(kernel)) return std::nullopt;
    if (!worst.type || place(*fault) > place(*worst.type)) worst.type = fault;
  }
  if (!found && node.domain.empty()) return std::nullopt;
  return worst;
}

bool has_joint_kernel(std::string_view op_type,
                      std::string_view domain,
                      int64_t version,
                      std::span<const DType> inputs,
                      DType output) {
  Graph graph;
  graph.opsets[std::string(domain)] = version;
  const auto value = [&](DType type) {
    const ValueId id = graph.add_value("v");
    TypeInfo info;
    info.type = type;
    graph.set_type(id, info);
    return id;
  };
  Node node;
  node.op_type = op_type;
  node.domain = domain;
  for (const DType type : inputs)
    node.inputs.push_back(value(type));
  node.outputs = {value(output)};
  return !joint_kernel_fault(graph, node);
}

} // namespace octet
