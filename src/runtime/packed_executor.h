// SPDX-License-Identifier: Apache-2.0
// Padded batches, run without their padding.
#pragma once

#include <memory>

#include "octet/executor.h"
#include "octet/session.h"

namespace octet::runtime {

/// Takes inputs as the model has them, [batch, length] with masks; gives outputs as the model does.
/// What padding makes of outputs of tokens is 0. Batches that a mask pads in front, or not at all
/// behind some token, run as they are. Errors: those of a packed Session::create, a model without
/// masks.
Result<std::unique_ptr<Executor>> make_packed_executor(const Graph& graph,
                                                       const SessionOptions& options);

} // namespace octet::runtime
