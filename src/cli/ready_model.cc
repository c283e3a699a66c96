// SPDX-License-Identifier: Apache-2.0
#include "cli/ready_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "cli/models.h"
#include "cli/random_inputs.h"
#include "core/format.h"
#include "graph/edit.h"
#include "ops/infer.h"
#include <fmt/format.h>

#include "octet/models.h"
#include "octet/passes.h"

namespace octet::cli {
namespace {

/// `part` of two equal parts along the first axis.
Result<Tensor> half(const Tensor& whole, size_t part) {
  Shape shape = whole.shape();
  shape[0] /= 2;
  Tensor out = OCTET_TRY(Tensor::zeros(whole.type(), std::move(shape)));
  const std::span<const std::byte> bytes = whole.bytes();
  const size_t size = bytes.size() / 2;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(part * size), size,
              out.mutable_bytes().begin());
  return out;
}

bool has_free_rows(const TypeInfo& type) {
  return type.has_rank() && type.rank() > 0 && !type.shape->front().is_constant();
}

/// The largest difference over the largest magnitude.
Result<double> difference(const Tensor& alone, const Tensor& together) {
  const std::vector<double> a = OCTET_TRY(alone.to_doubles()), b = OCTET_TRY(together.to_doubles());
  if (a.size() != b.size()) return HUGE_VAL;
  double largest = 1e-6, worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return worst / largest;
}

/// Whether two batches together give what each gives alone.
Status check_rows(const Graph& before, const Graph& after, int64_t batch, const Common& common) {
  constexpr double kRounding = 1e-3;
  std::map<std::string, int64_t> sizes = different_sizes(after);
  for (const ValueId id : after.inputs()) {
    const TypeInfo& type = after.value(id).type;
    if (has_free_rows(type)) sizes[type.shape->front().text()] = 2 * batch;
  }
  const auto once = OCTET_TRY(make_executor(before, "native", common));
  const auto both = OCTET_TRY(make_executor(after, "native", common));
  const std::vector<Tensor> joined = OCTET_TRY(random_inputs(after, {}, sizes, common.seed));
  const std::vector<Tensor> together = OCTET_TRY(both->run(joined));
  for (const size_t part : {0, 1}) {
    std::vector<Tensor> own = joined;
    for (size_t i = 0; i < own.size(); ++i)
      if (has_free_rows(after.value(after.inputs()[i]).type))
        own[i] = OCTET_TRY(half(joined[i], part));
    const std::vector<Tensor> alone = OCTET_TRY(once->run(own));
    for (size_t k = 0; k < alone.size(); ++k) {
      const Tensor& all = together[k];
      if (k == 0 && all.rank() > 0 && all.dim(0) != 2 * alone[k].dim(0))
        return error("of two batches it computes {} of {} rows", all.dim(0), alone[k].dim(0) * 2);
      if (!is_float(all.type()) || all.rank() == 0 || all.dim(0) % 2 != 0) continue;
      if (!(OCTET_TRY(difference(alone[k], OCTET_TRY(half(all, part)))) <= kRounding))
        return error("what it computes of an example depends on the others");
    }
  }
  return ok_status();
}

} // namespace

Status leave_training_mode(Graph& graph) {
  const Uses uses(graph);
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).is("Dropout") && graph.node(id).inputs.size() > 2)
      graph.mutable_node(id).inputs.resize(2);
    const Node node = graph.node(id);
    if (!node.is("BatchNormalization") || node.attr_int("training_mode", 0) == 0) continue;
    const bool more = std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                                  [&](ValueId v) { return v.valid() && uses.count(v) > 0; });
    if (more) continue;
    Attributes attributes = node.attributes;
    attributes.erase("training_mode");
    replace_node(graph, id,
                 graph.emit("BatchNormalization", node.inputs, std::move(attributes), node.name));
  }
  return infer_types(graph);
}

Status make_ready(Graph& graph, const std::string& model, const Common& common) {
  if (!graph.info.functions.empty()) OCTET_TRY(inline_functions(graph));
  OCTET_TRY(leave_training_mode(graph));
  Graph free = graph;
  const Result<int64_t> batch = free_batch(free);
  if (batch.ok() && *batch == 0) return ok_status();
  const Status same = batch.ok() ? check_rows(graph, free, *batch, common) : Status(batch.error());
  if (!same.ok()) {
    fmt::print(stderr, "{}: keeps the batch that the file fixes: {}; give --batch of that size\n",
               model, same.error().text());
    return ok_status();
  }
  fmt::print(stderr, "{}: took batches of {} alone and takes any now\n", model, *batch);
  graph = std::move(free);
  return ok_status();
}

} // namespace octet::cli
