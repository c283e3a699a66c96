// SPDX-License-Identifier: Apache-2.0
// Which nodes of two models are the same, or came of one another.
#pragma once

#include <utility>
#include <vector>

#include "view/picture.h"

#include "octet/graph.h"

namespace octet::view {

/// Nodes of two pictures by index, each pair once, in order.
using Links = std::vector<std::pair<int32_t, int32_t>>;

/// By origins and names, by the names of what nodes make, and of a float model beside a quantized
/// one as `debug` pairs them.
Links link_models(const Graph& first, const Picture& one, const Graph& second, const Picture& two);

/// Nodes of a model and the layers of an engine that come from them or compute them.
Links link_layers(const Picture& model,
                  const Picture& engine,
                  const std::vector<LayerForm>& predicted,
                  const std::vector<EngineNode>& nodes);

/// Says at the nodes of the model, and at the layers that compute them, what the engine does
/// otherwise than predicted.
void mark_otherwise(Picture& model,
                    Picture& engine,
                    const std::vector<LayerForm>& predicted,
                    const std::vector<EngineLayer>& layers,
                    const std::vector<EngineNode>& nodes);

} // namespace octet::view
