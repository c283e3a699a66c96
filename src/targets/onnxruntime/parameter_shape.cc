// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"
#include "graph/label.h"
#include "targets/onnxruntime/parameters.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

constexpr const char* kWithoutAxes = "give it the shape []: octet repair does for constants";

void find_parameter_shape(const CheckContext& context, const Node& node, Found& found) {
  const auto around = onnxruntime_shaped_around(context.graph, context.uses, context.target, node);
  if (!around.empty())
    found.add(
        node,
        fmt::format("ONNX Runtime fuses it with its Q/DQ, of which the scale or zero point of "
                    "{} has an axis, and fails to load the file: \"Scale and Zero-point must "
                    "be a scalar\"",
                    label(context.graph, context.graph.node(around.front()))),
        kWithoutAxes);
  const std::vector<size_t> inputs = onnxruntime_shaped_parameters(context.graph, node);
  if (inputs.empty()) return;
  const Value& value = context.graph.value(node.input(inputs[0]));
  found.add(node,
            fmt::format("the scale or zero point \"{}\" is {} where the kernel takes "
                        "fewer axes: \"Scale and Zero-point must be a scalar\" or the "
                        "like, when it is loaded or run",
                        value.name, value.type.text()),
            kWithoutAxes);
}

} // namespace

constexpr TargetRule kParameterShape = {.id = "parameter-shape",
                                        .clause = "8",
                                        .find = find_parameter_shape,
                                        .mends = {Mend::kScalarParameter}};

} // namespace octet::onnxruntime
