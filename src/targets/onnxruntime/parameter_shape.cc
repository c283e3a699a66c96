// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"
#include "targets/onnxruntime/parameters.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_parameter_shape(const CheckContext& context, const Node& node, Found& found) {
  const std::vector<size_t> inputs = onnxruntime_shaped_parameters(context.graph, node);
  if (inputs.empty()) return;
  const Value& value = context.graph.value(node.input(inputs[0]));
  found.add(node,
            fmt::format("the scale or zero point \"{}\" is {} where the kernel takes "
                        "fewer axes: \"Scale and Zero-point must be a scalar\" or the "
                        "like, when it is loaded or run",
                        value.name, value.type.text()),
            "give it the shape []: octet repair does for constants");
}

} // namespace

constexpr TargetRule kParameterShape = {.id = "parameter-shape",
                                        .clause = "8",
                                        .find = find_parameter_shape,
                                        .mends = {Mend::kScalarParameter}};

} // namespace octet::onnxruntime
