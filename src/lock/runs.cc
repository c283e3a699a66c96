// SPDX-License-Identifier: Apache-2.0
#include "lock/runs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/format.h"
#include "data/npz.h"
#include "graph/label.h"
#include "lock/parts.h"

#include "octet/version.h"

namespace octet {

namespace {

NamedTensors named(const Graph& graph, std::vector<Tensor> tensors) {
  NamedTensors out;
  for (size_t i = 0; i < tensors.size(); ++i)
    out.emplace_back(graph.value(graph.outputs()[i]).name, std::move(tensors[i]));
  return out;
}

/// The lowered graph with everything that its nodes make as outputs.
Graph with_all_values(const Graph& lowered, const std::vector<NodeId>& order) {
  Graph all = lowered;
  std::vector<ValueId> values;
  for (const NodeId id : order)
    for (const ValueId value : lowered.node(id).outputs)
      if (value.valid() && lowered.value(value).type.opaque.empty()) values.push_back(value);
  all.set_outputs(std::move(values));
  return all;
}

std::string place_of(int64_t index, const Shape& shape) {
  Shape at(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; index /= shape[axis])
    at[axis] = index % shape[axis];
  return to_string(at);
}

bool same(double a, double b) {
  return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
}

/// Of two tensors of one type and shape whose bytes differ.
Result<std::string> difference(const Tensor& expected, const Tensor& got) {
  if (expected.type() == DType::kString || bits(expected.type()) < 8)
    return std::string("it is another");
  const auto before = OCTET_TRY(expected.to_doubles());
  const auto now = OCTET_TRY(got.to_doubles());
  int64_t count = 0, worst = -1;
  double largest = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (same(before[i], now[i])) continue;
    ++count;
    double off = std::fabs(before[i] - now[i]);
    if (std::isnan(off)) off = std::numeric_limits<double>::infinity();
    if (worst >= 0 && off <= largest) continue;
    largest = off;
    worst = static_cast<int64_t>(i);
  }
  if (worst < 0) return std::string("integers beyond 2^53 or the bits of a NaN differ");
  const auto at = static_cast<size_t>(worst);
  return fmt::format("{} of {} elements differ, the worst by {:.6g} at {}: {:.9g}, locked {:.9g}",
                     count, before.size(), largest, place_of(worst, expected.shape()), now[at],
                     before[at]);
}

/// What an output of another type or shape, or a missing one, is.
enum class OtherSizes { kError, kFinding };

Result<LockFindings> compare_outputs(const Lock& lock,
                                     std::span<const std::pair<std::string, Tensor>> outputs,
                                     OtherSizes other) {
  LockFindings out;
  for (const auto& [name, expected] : lock.outputs) {
    const auto found =
        std::find_if(outputs.begin(), outputs.end(),
                     [&, &n = name](const auto& output) { return output.first == n; });
    if (found == outputs.end()) {
      out.push_back(fmt::format("there is no output \"{}\", which the lock has", name));
      if (other == OtherSizes::kError) return Error(out.back());
      continue;
    }
    const Tensor& got = found->second;
    if (got.type() != expected.type() || got.shape() != expected.shape()) {
      out.push_back(fmt::format("output \"{}\" is {}{}, locked {}{}", name, octet::name(got.type()),
                                to_string(got.shape()), octet::name(expected.type()),
                                to_string(expected.shape())));
      if (other == OtherSizes::kError) return Error(out.back());
    } else if (got.content_hash() != expected.content_hash()) {
      out.push_back(fmt::format("output \"{}\": {}", name, OCTET_TRY(difference(expected, got))));
    }
  }
  return out;
}

/// Examples `begin` to `end` along the first axis.
Result<Tensor> rows(const Tensor& x, int64_t begin, int64_t end) {
  Shape shape = x.shape();
  const size_t row = x.bytes().size() / static_cast<size_t>(shape[0]);
  shape[0] = end - begin;
  Tensor out = OCTET_TRY(Tensor::zeros(x.type(), shape));
  std::memcpy(out.mutable_bytes().data(), x.bytes().data() + static_cast<size_t>(begin) * row,
              out.bytes().size());
  return out;
}

/// How many examples lie along the first axis of all inputs.
Result<int64_t> common_examples(const NamedTensors& inputs) {
  std::optional<int64_t> count;
  for (const auto& [name, tensor] : inputs) {
    if (tensor.rank() == 0 || bits(tensor.type()) < 8 || (count && *count != tensor.dim(0)))
      return error("\"{}\" is {}{}: examples lie along no common first axis; verify them together",
                   name, octet::name(tensor.type()), to_string(tensor.shape()));
    count = tensor.dim(0);
  }
  if (count.value_or(0) == 0) return Error("there are no examples; verify without a batch");
  return *count;
}

/// Errors: a model that takes all examples together alone.
Status check_batch(const Graph& graph, int64_t examples, int64_t batch) {
  for (const ValueId input : graph.inputs()) {
    const TypeInfo& type = graph.value(input).type;
    if (batch < examples && type.has_rank() && type.rank() > 0 && (*type.shape)[0].is_constant())
      return error("input \"{}\" is {}, with no open first axis: no batch of {} fits; verify all "
                   "examples together",
                   graph.value(input).name, type.text(), batch);
  }
  return ok_status();
}

/// Outputs, and what failed where the model does not run.
struct Outcome {
  std::vector<Tensor> outputs;
  LockFindings failed;
};

/// What a lock holds ran once: that it fails now is a difference.
Result<Outcome> does_not_run(const Error& why) {
  if (why.code() == ErrorCode::kCancelled || why.code() == ErrorCode::kInternal) return why;
  return Outcome{{}, {fmt::format("does not run, as the locked model did: {}", why.text())}};
}

/// Outputs of all examples, `batch` of which run at a time.
Result<Outcome> run_in_parts(Session& session,
                             const Graph& graph,
                             std::span<const Tensor> inputs,
                             int64_t examples,
                             int64_t batch) {
  std::vector<Tensor> out;
  for (int64_t begin = 0; begin < examples; begin += batch) {
    const int64_t end = std::min(examples, begin + batch);
    std::vector<Tensor> part;
    for (const Tensor& tensor : inputs)
      part.push_back(OCTET_TRY(rows(tensor, begin, end)));
    const Result<std::vector<Tensor>> ran = session.run(part);
    if (!ran.ok()) return does_not_run(ran.error());
    const std::vector<Tensor>& made = *ran;
    for (size_t k = 0; k < made.size(); ++k) {
      Shape whole = made[k].shape();
      if (whole.empty() || whole[0] != end - begin || bits(made[k].type()) < 8)
        return error("output \"{}\" of {} examples is {}{}; verify them together",
                     graph.value(graph.outputs()[k]).name, end - begin, name(made[k].type()),
                     to_string(whole));
      whole[0] = examples;
      if (begin == 0) out.push_back(OCTET_TRY(Tensor::zeros(made[k].type(), whole)));
      const size_t row = made[k].bytes().size() / static_cast<size_t>(end - begin);
      if (out[k].bytes().size() != row * static_cast<size_t>(examples))
        return error("output \"{}\" has other sizes for other examples; verify them together",
                     graph.value(graph.outputs()[k]).name);
      std::memcpy(out[k].mutable_bytes().data() + static_cast<size_t>(begin) * row,
                  made[k].bytes().data(), made[k].bytes().size());
    }
  }
  return Outcome{std::move(out), {}};
}

Result<Outcome> run_together(Session& session, std::span<const Tensor> inputs) {
  Result<std::vector<Tensor>> ran = session.run(inputs);
  if (!ran.ok()) return does_not_run(ran.error());
  return Outcome{std::move(*ran), {}};
}

/// The lock's inputs in the order of the graph's. Errors: one that the lock does not have.
Result<std::vector<Tensor>> inputs_for(const Lock& lock, const Graph& graph) {
  std::vector<Tensor> out;
  for (const ValueId id : graph.inputs()) {
    const std::string& wanted = graph.value(id).name;
    const auto found = std::find_if(lock.inputs.begin(), lock.inputs.end(),
                                    [&](const auto& input) { return input.first == wanted; });
    if (found == lock.inputs.end())
      return error("the lock has no input \"{}\", which the model wants; lock this model anew",
                   wanted);
    out.push_back(found->second);
  }
  return out;
}

/// The first value that is made otherwise, in words; empty: all that both have are the same.
std::string first_difference(const Lock& lock, const LockedRun& run) {
  if (run.lowered != lock.lowered && run.values.size() != lock.values.size())
    return fmt::format("the program that runs is another: {} values, locked {}", run.values.size(),
                       lock.values.size());
  for (size_t i = 0; i < std::min(run.values.size(), lock.values.size()); ++i) {
    if (run.values[i].name != lock.values[i].name)
      return fmt::format("the program that runs is another from value \"{}\" on, locked \"{}\"",
                         run.values[i].name, lock.values[i].name);
    if (run.values[i].hash != lock.values[i].hash)
      return fmt::format("the first value that differs is \"{}\" of {}, {} of {} in the model",
                         run.values[i].name, run.made_by[i], i + 1, run.values.size());
  }
  return "";
}

} // namespace

Result<LockedRun> run_and_hash(const Session& session,
                               std::span<const Tensor> inputs,
                               const SessionOptions& options) {
  LockedRun out;
  out.isa = session.isa();
  const Graph& lowered = session.lowered();
  out.lowered = lowered.content_hash();
  const std::vector<NodeId> order = OCTET_TRY(lowered.topological());
  const Graph all = with_all_values(lowered, order);
  std::vector<uint64_t> hashes(all.outputs().size());
  SessionOptions as_it_is = options;
  as_it_is.lower = false;
  Session whole = OCTET_TRY(Session::create(all, as_it_is));
  OCTET_TRY(whole.stream(inputs, [&](size_t output, const Tensor& value) {
    hashes[output] = value.content_hash();
    return ok_status();
  }));
  for (size_t i = 0; i < hashes.size(); ++i) {
    const ValueId id = all.outputs()[i];
    out.values.push_back({all.value(id).name, hashes[i]});
    out.made_by.push_back(label(all, *all.producer(id)));
  }
  return out;
}

Result<Lock>
make_lock(const Graph& graph, std::span<const Tensor> inputs, const SessionOptions& options) {
  Lock lock;
  lock.octet = version();
  lock.parts = parts_of(graph);
  for (size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i)
    lock.inputs.emplace_back(graph.value(graph.inputs()[i]).name, inputs[i]);
  SessionOptions kept = options;
  kept.keep_weights = true;
  Session session = OCTET_TRY(Session::create(graph, kept));
  lock.outputs = named(graph, OCTET_TRY(session.run(inputs)));
  LockedRun run = OCTET_TRY(run_and_hash(session, inputs, kept));
  lock.isa = run.isa;
  lock.lowered = run.lowered;
  lock.values = std::move(run.values);
  return lock;
}

Result<LockFindings> changed_results(const Lock& lock,
                                     const Graph& graph,
                                     const SessionOptions& options,
                                     int64_t batch) {
  const int64_t examples = batch > 0 ? OCTET_TRY(common_examples(lock.inputs)) : 0;
  if (batch > 0) OCTET_TRY(check_batch(graph, examples, batch));
  const Result<std::vector<Tensor>> inputs = inputs_for(lock, graph);
  if (!inputs.ok()) return OCTET_TRY(does_not_run(inputs.error())).failed;
  SessionOptions kept = options;
  kept.keep_weights = true;
  Result<Session> made = Session::create(graph, kept);
  if (!made.ok()) return OCTET_TRY(does_not_run(made.error())).failed;
  Session& session = *made;
  Outcome ran = batch > 0 ? OCTET_TRY(run_in_parts(session, graph, *inputs, examples, batch))
                          : OCTET_TRY(run_together(session, *inputs));
  if (!ran.failed.empty()) return std::move(ran.failed);
  LockFindings out =
      OCTET_TRY(compare_outputs(lock, named(graph, std::move(ran.outputs)), OtherSizes::kFinding));
  if (out.empty()) return out;
  const std::string first = first_difference(lock, OCTET_TRY(run_and_hash(session, *inputs, kept)));
  out.push_back(first.empty() ? "no value within the model differs when all examples run together"
                              : first);
  return out;
}

Result<LockFindings> changed_outputs(const Lock& lock,
                                     std::span<const std::pair<std::string, Tensor>> outputs) {
  return compare_outputs(lock, outputs, OtherSizes::kError);
}

} // namespace octet
