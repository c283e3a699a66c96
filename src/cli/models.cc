// SPDX-License-Identifier: Apache-2.0
#include "cli/models.h"

#include <algorithm>
#include <filesystem>

#include "core/format.h"
#include "core/string_util.h"
#include "graph/bodies.h"
#include "graph/sizes.h"
#include "ops/infer.h"
#include "passes/lower/lower.h"
#include "targets/checks.h"
#include "targets/onnxruntime/integer.h"
#include <sys/resource.h>

#include "octet/model_folder.h"
#include "octet/onnx.h"
#include "octet/pack.h"
#include "octet/session.h"
#include "octet/train.h"

namespace octet::cli {
namespace fs = std::filesystem;

Result<Graph> open_model(const std::string& path) {
  return load_onnx(OCTET_TRY(resolve_model(path)));
}

Result<Graph> open_model(const std::string& path, const Common& common) {
  Graph graph = OCTET_TRY(open_model(path));
  const std::vector<Disagreement> found = disagreements(graph);
  if (found.empty()) return graph;
  if (common.strict)
    return error("{}: {}; leave out --strict to go on with what is computed", path,
                 found.front().text());
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(found.size(), kShown); ++i)
    fmt::print(stderr, "{}: {}: what is computed counts\n", path, found[i].text());
  if (found.size() > kShown)
    fmt::print(stderr, "{}: {} more values are not what is declared\n", path,
               found.size() - kShown);
  return graph;
}

bool holds_codes(const Graph& graph) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    const std::vector<Body> bodies = bodies_of(node);
    return is_qdq(node) || node.is("DynamicQuantizeLinear") || computes_in_integers(node) ||
           computes_with_codes(node) ||
           std::any_of(bodies.begin(), bodies.end(),
                       [](const Body& body) { return holds_codes(*body.graph); });
  });
}

Status check_float(const Graph& graph, const std::string& path, std::string_view why) {
  if (!holds_codes(graph)) return ok_status();
  return error("{}: is quantized; {}", path, why);
}

int64_t model_bytes(const std::string& model) {
  std::error_code ignored;
  const Result<std::string> resolved = resolve_model(model);
  const std::string path = resolved.ok() ? *resolved : model;
  auto bytes = static_cast<int64_t>(fs::file_size(path, ignored));
  const fs::path external = path + ".data";
  if (fs::exists(external, ignored))
    bytes += static_cast<int64_t>(fs::file_size(external, ignored));
  return ignored ? 0 : bytes;
}

ExecutorFactory measuring_executor(const Common& common, bool integer) {
  return
      [threads = common.threads, integer](const Graph& graph) -> Result<std::unique_ptr<Executor>> {
        if (constant_bytes(graph) > kLargeConstantBytes) return make_reference_executor(graph);
        return make_native_executor(
            graph, {.threads = threads, .isa = {}, .lower = true, .integer = integer});
      };
}

Result<LearnRounding> rounding_learner() {
  TrainApi* api = OCTET_TRY(train_api());
  return LearnRounding(
      [api](const RoundingRequest& request) { return api->learn_rounding(request); });
}

const std::vector<std::string>& executor_names() {
  static const std::vector<std::string> names = {"native", "reference", "torch"};
  return names;
}

Status check_executor(const std::string& executor) {
  const std::vector<std::string>& names = executor_names();
  if (std::find(names.begin(), names.end(), executor) == names.end())
    return error("unknown executor \"{}\"{}", executor, suggestion(executor, names));
  if (executor == "torch") OCTET_TRY(train_api());
  return ok_status();
}

Result<std::unique_ptr<Executor>>
make_executor(const Graph& graph, const std::string& executor, const Common& common) {
  OCTET_TRY(check_executor(executor));
  if (executor == "native")
    return make_native_executor(graph, {.threads = common.threads, .isa = {}, .lower = true});
  if (executor == "reference") return make_reference_executor(graph);
  TrainApi* api = OCTET_TRY(train_api());
  return api->make_executor(graph, {.device = Device::kCpu, .threads = common.threads});
}

namespace {

bool is_store(const std::string& path) {
  return fs::path(path).extension() == ".octetpack";
}

/// Whether Session::open finds a weight store for it.
bool may_be_packed(const std::string& resolved) {
  std::error_code none;
  return is_store(resolved) || fs::is_regular_file(pack_path(resolved), none);
}

} // namespace

Result<Graph> open_inputs(const std::string& path, const Common& common) {
  if (!is_store(path)) return open_model(path, common);
  return OCTET_TRY(open_session(path, common)).graph;
}

Result<OpenedSession> open_session(const std::string& path, const Common& common) {
  const SessionOptions options{.threads = common.threads, .isa = {}, .lower = true};
  const std::string resolved = OCTET_TRY(resolve_model(path));
  if (is_store(resolved) || (may_be_packed(resolved) && !common.strict)) {
    Session session = OCTET_TRY(Session::open(resolved, options));
    if (!session.pack_warning().empty()) fmt::print(stderr, "{}\n", session.pack_warning());
    Graph graph = session.lowered();
    return OpenedSession{std::move(graph), std::move(session)};
  }
  Graph graph = OCTET_TRY(open_model(path, common));
  Session session = OCTET_TRY_WITH(Session::create(graph, options), path);
  return OpenedSession{std::move(graph), std::move(session)};
}

Result<OpenedModel>
open_executor(const std::string& path, const std::string& executor, const Common& common) {
  OCTET_TRY(check_executor(executor));
  if (executor == "native") {
    OpenedSession opened = OCTET_TRY(open_session(path, common));
    return OpenedModel{std::move(opened.graph), make_native_executor(std::move(opened.session))};
  }
  Graph graph = OCTET_TRY(open_model(path, common));
  auto made = OCTET_TRY_WITH(make_executor(graph, executor, common), path);
  return OpenedModel{std::move(graph), std::move(made)};
}

Result<std::unique_ptr<Executor>> executor_of(const Graph& graph,
                                              const std::string& path,
                                              const std::string& executor,
                                              const Common& common) {
  if (executor == "native" && may_be_packed(OCTET_TRY(resolve_model(path))))
    return OCTET_TRY(open_executor(path, executor, common)).executor;
  return make_executor(graph, executor, common).with(path);
}

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

} // namespace octet::cli
