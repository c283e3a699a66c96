// SPDX-License-Identifier: Apache-2.0
// One scale for each channel: of which axis, and of what.
#include "core/format.h"
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

struct Channels {
  int64_t scales = 0, rank = 0;
  bool is_written = false;
  int64_t written = 1, axis = 1; ///< as in the file, and from 0 on; 1 where it is not written

  bool in_range() const { return axis >= 0 && axis < rank; }
};

/// Of Q and DQ with several scales along one axis.
std::optional<Channels> channels_of(const CheckContext& context, const Node& node) {
  const qdq::Written said = qdq::written(context.graph, node);
  const Tensor* scale = said.scales;
  if (scale == nullptr || scale->count() <= 1 || scale->rank() != 1) return std::nullopt;
  const TypeInfo& x = context.graph.value(node.input(0)).type;
  if (!x.has_rank()) return std::nullopt;
  Channels out{scale->count(), x.rank(), said.has_axis, said.axis};
  out.axis = said.axis < 0 ? said.axis + out.rank : said.axis;
  return out;
}

void find_axis_missing(const CheckContext& context, const Node& node, Found& found) {
  const auto channels = channels_of(context, node);
  if (channels && !channels->is_written)
    found.add(node, "several scales without axis: TensorRT takes axis 0, ONNX means axis 1",
              "write the axis");
}

void find_axis_range(const CheckContext& context, const Node& node, Found& found) {
  const auto channels = channels_of(context, node);
  if (channels && channels->is_written && !channels->in_range())
    found.add(node,
              fmt::format("\"Axis must be in the range [0, nbDims ({})]. Provided axis is: {}\"",
                          channels->rank, channels->written),
              "use an axis of the tensor");
}

/// What its axis is told right: the rest is of the channels along it.
std::optional<Channels> usable_channels(const CheckContext& context, const Node& node) {
  const auto channels = channels_of(context, node);
  return channels && channels->is_written && channels->in_range() ? channels : std::nullopt;
}

void find_axis_channels(const CheckContext& context, const Node& node, Found& found) {
  const auto channels = usable_channels(context, node);
  if (!channels) return;
  const auto& shape = *context.graph.value(node.input(0)).type.shape;
  const auto dim = shape[static_cast<size_t>(channels->axis)].maybe_value();
  if (dim && *dim != channels->scales)
    found.add(node,
              fmt::format("\"The number of scales is not equal to the number of output channels. "
                          "Number of output channels = {}, number of scales = {}.\"",
                          *dim, channels->scales),
              "give one scale for each channel of the axis");
}

void find_activation_per_channel(const CheckContext& context, const Node& node, Found& found) {
  if (!usable_channels(context, node)) return;
  const Graph& graph = context.graph;
  const Node* before = graph.producer(node.input(0));
  const bool rooted =
      graph.constant(node.input(0)) != nullptr ||
      (before != nullptr && is_quantize(*before) && graph.constant(before->input(0)) != nullptr);
  if (!rooted)
    found.add(node, "per-channel scales are only taken for inputs that come from a constant",
              "use one scale for the activation, the largest");
}

} // namespace

constexpr TargetRule kAxisMissing = {
    .id = "axis-missing", .clause = "1.1, 7", .find = find_axis_missing, .mends = {Mend::kSetAxis}};
constexpr TargetRule kAxisRange = {
    .id = "axis-range", .clause = "1.1 row 15", .find = find_axis_range};
constexpr TargetRule kAxisChannels = {
    .id = "axis-channels", .clause = "1.1 row 16", .find = find_axis_channels};
constexpr TargetRule kActivationPerChannel = {.id = "activation-per-channel",
                                              .clause = "1.4",
                                              .find = find_activation_per_channel,
                                              .mends = {Mend::kSymmetricActivation}};

} // namespace octet::tensorrt
