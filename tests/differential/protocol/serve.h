// SPDX-License-Identifier: Apache-2.0
// Answers requests on the standard input, one model each, on the standard output, until the end of
// the input. A message is a number of blobs (u32), then each with its length (u64) before it.
// Request: {"sets": n, "variant": n, "bounds": bool}, the model, then for each set of inputs one TensorProto for
// each input of the model. Reply: {"blobs": [names], "refusals": {}, "findings": [], "counts": {}}, then the
// blobs: "<what>/<set>/<output>" are TensorProtos, "file/<what>" is a model.
#pragma once

#include <functional>

#include "runner/answers.h"

namespace octet::differential {

struct Request {
  Graph graph;
  InputSets sets;
  int64_t variant = 0;
  bool bounds = false;
};

/// Until the end of the input.
void serve(const std::function<Answers(const Request&)>& answer);

} // namespace octet::differential
