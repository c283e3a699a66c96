// SPDX-License-Identifier: Apache-2.0
// What several subcommands do with models: open, make ready, write.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

#include "octet/executor.h"
#include "octet/graph.h"
#include "octet/learn_rounding.h"
#include "octet/session.h"

namespace octet::cli {

/// An ONNX file, or the one of a model folder; errors name it.
Result<Graph> open_model(const std::string& path);
/// The same; says on stderr which declared types are not what is computed, which counts. With
/// --strict the first is an error.
Result<Graph> open_model(const std::string& path, const Common& common);
/// For commands that want a float model. Errors: a graph with 8-bit codes in it; `why` ends the
/// sentence that begins with the model.
Status check_float(const Graph& graph, const std::string& path, std::string_view why);
/// Whether the graph holds codes: Q/DQ or operators on codes.
bool holds_codes(const Graph& graph);
/// Bytes of the file and of the external data that it names.
int64_t model_bytes(const std::string& path);

/// For runs over data whose values are looked at: the native one, or for more than 1.5 GiB of
/// constants the reference, which reads them where they are mapped and packs none. `integer` false:
/// Q and DQ stay what the file says.
ExecutorFactory measuring_executor(const Common& common, bool integer);

/// What learns roundings (QuantizeOptions::learn_rounding): loads what trains. Errors: it is not
/// installed.
Result<LearnRounding> rounding_learner();

/// `native`, `reference` or `torch`.
Result<std::unique_ptr<Executor>>
make_executor(const Graph& graph, const std::string& executor, const Common& common);

/// A model that runs.
struct OpenedModel {
  Graph graph; ///< with the model's inputs and outputs: as in the file, or of a weight store
  std::unique_ptr<Executor> executor;
};
/// open_model and make_executor; the native executor takes a weight store in place of a model, or
/// the one beside it, and says on stderr why it does not. With --strict the model's types are
/// looked at as ever.
Result<OpenedModel>
open_executor(const std::string& path, const std::string& executor, const Common& common);
/// The same for a model that is open already as `graph`.
Result<std::unique_ptr<Executor>> executor_of(const Graph& graph,
                                              const std::string& path,
                                              const std::string& executor,
                                              const Common& common);
/// open_model, or for a weight store the graph that it runs, of which inputs and outputs count.
Result<Graph> open_inputs(const std::string& path, const Common& common);
/// open_executor with a session of its own.
struct OpenedSession {
  Graph graph;
  Session session;
};
Result<OpenedSession> open_session(const std::string& path, const Common& common);

const std::vector<std::string>& executor_names();
/// Errors: no such executor, or one that is not installed.
Status check_executor(const std::string& executor);

/// The resident set's peak so far, from the system.
int64_t peak_rss_bytes();

} // namespace octet::cli
