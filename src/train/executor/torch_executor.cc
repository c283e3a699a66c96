// SPDX-License-Identifier: Apache-2.0
// Running a graph with LibTorch, with and without gradients.
#include "train/executor/torch_executor.h"

#include "core/format.h"
#include "train/convert.h"
#include "train/executor/program.h"
#include "train/guard.h"
#include "train/runtime.h"
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

namespace octet::train {
namespace {

Status check_input(const Value& input, const Tensor& tensor) {
  const TypeInfo& type = input.type;
  const auto shown = [&] { return tensor_type(tensor.type(), tensor.shape()).text(); };
  bool fits = type.type == DType::kUndefined || type.type == tensor.type();
  if (fits && type.has_rank()) {
    fits = type.rank() == tensor.rank();
    for (size_t i = 0; fits && i < type.shape->size(); ++i) {
      const std::optional<int64_t> wanted = (*type.shape)[i].maybe_value();
      fits = !wanted || *wanted == tensor.shape()[i];
    }
  }
  if (fits) return ok_status();
  return error("input \"{}\": the model wants {} but got {}", input.name, type.text(), shown());
}

Result<std::vector<at::Tensor>> to_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size())
    return error("the graph has {} inputs and {} tensors were given", graph.inputs().size(),
                 inputs.size());
  std::vector<at::Tensor> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    OCTET_TRY(check_input(graph.value(graph.inputs()[i]), inputs[i]));
    out.push_back(to_torch(inputs[i]));
  }
  return out;
}

class TorchExecutor final : public Executor {
 public:
  TorchExecutor(std::unique_ptr<Program> program, TorchOptions options)
      : program_(std::move(program)), options_(options) {}

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    OCTET_TRY(prepare_runtime(options_.device, options_.threads));
    return guarded([&]() -> Result<std::vector<Tensor>> {
      const at::NoGradGuard no_gradient;
      const Graph& graph = program_->graph();
      const std::vector<at::Tensor> given = OCTET_TRY(to_inputs(graph, inputs));
      const std::vector<at::Tensor> results = OCTET_TRY(program_->forward(given, RunState{}));
      std::vector<Tensor> out;
      for (size_t i = 0; i < results.size(); ++i)
        out.push_back(from_torch(results[i], graph.value(graph.outputs()[i]).type.type));
      return out;
    });
  }

  Status stream(std::span<const Tensor> inputs, const OutputTap& tap) override {
    OCTET_TRY(prepare_runtime(options_.device, options_.threads));
    return guarded([&]() -> Status {
      const at::NoGradGuard no_gradient;
      const Graph& graph = program_->graph();
      return program_->stream(OCTET_TRY(to_inputs(graph, inputs)), RunState{},
                              [&](size_t i, const at::Tensor& value) {
                                const Value& output = graph.value(graph.outputs()[i]);
                                return tap(i, from_torch(value, output.type.type));
                              });
    });
  }

 private:
  std::unique_ptr<Program> program_;
  TorchOptions options_;
};

/// Constants become parameters of the program, inputs get their gradient traced.
Status
find_wrt(const Graph& graph, std::span<const std::string> wrt, std::vector<ValueId>& constants) {
  for (const std::string& wanted : wrt) {
    const std::optional<ValueId> v = graph.find_value(wanted);
    if (!v) return error("the graph has no value \"{}\"", wanted);
    if (graph.value(*v).is_constant())
      constants.push_back(*v);
    else if (graph.value(*v).kind != ValueKind::kInput)
      return error("\"{}\" is neither an input nor a constant", wanted);
  }
  return ok_status();
}

} // namespace

Result<std::unique_ptr<Executor>> make_torch_executor(const Graph& graph,
                                                      const TorchOptions& options) {
  OCTET_TRY(prepare_runtime(options.device, options.threads));
  ProgramOptions program_options;
  program_options.device = torch_device(options.device);
  std::unique_ptr<Program> program =
      OCTET_TRY_WITH(Program::create(graph, program_options), "torch executor");
  return std::unique_ptr<Executor>(std::make_unique<TorchExecutor>(std::move(program), options));
}

Result<std::vector<Tensor>> graph_gradients(const Graph& graph, const GradientRequest& request) {
  OCTET_TRY(prepare_runtime(Device::kCpu, 0));
  Graph held = graph;
  OCTET_TRY(absorb_constant_nodes(held));
  if (request.output_gradients.size() != held.outputs().size())
    return error("the graph has {} outputs and {} gradients were given", held.outputs().size(),
                 request.output_gradients.size());
  ProgramOptions options;
  options.weight_scales = request.weight_scales;
  options.activation_scales = request.activation_scales;
  OCTET_TRY(find_wrt(held, request.wrt, options.parameters));
  const std::unique_ptr<Program> program = OCTET_TRY(Program::create(held, options));
  return guarded([&]() -> Result<std::vector<Tensor>> {
    std::vector<at::Tensor> inputs = OCTET_TRY(to_inputs(held, request.inputs));
    for (at::Tensor& x : inputs)
      if (x.is_floating_point()) x = x.clone().set_requires_grad(true);
    const std::vector<at::Tensor> outputs = OCTET_TRY(program->forward(inputs, RunState{}));
    at::Tensor total;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const at::Tensor& y = outputs[i];
      if (!y.requires_grad()) continue;
      const at::Tensor part = (y * to_torch(request.output_gradients[i]).reshape(y.sizes())).sum();
      total = total.defined() ? total + part : part;
    }
    if (total.defined()) total.backward();
    std::vector<Tensor> out;
    for (const std::string& wanted : request.wrt) {
      const ValueId v = *held.find_value(wanted);
      at::Tensor leaf;
      for (const Program::Trained& t : program->trained())
        if (t.value == v) leaf = t.leaf;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (held.inputs()[i] == v) leaf = inputs[i];
      if (!leaf.defined()) leaf = to_torch(held.value(v).constant); // it reaches no output
      out.push_back(from_torch(leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf)));
    }
    return out;
  });
}

} // namespace octet::train
