// SPDX-License-Identifier: Apache-2.0
// Searches over networks whose every layer does a damage that is known, so that what a search should
// find can be enumerated.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "quant/search/search.h"
#include "quant/support.h"

namespace octet::test {

/// Examples [n, features] without labels.
class Rows final : public Dataset {
 public:
  explicit Rows(Tensor x) : x_(std::move(x)) {
    TypeInfo type = tensor_type(x_.type(), x_.shape());
    (*type.shape)[0] = Dim::symbol("N");
    features_.emplace_back("x", std::move(type));
  }
  std::string description() const override { return "rows"; }
  int64_t size() const override { return x_.dim(0); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    const auto all = x_.data<float>();
    const auto width = static_cast<size_t>(x_.dim(1));
    std::vector<float> out;
    for (const int64_t i : indices)
      out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(i * x_.dim(1)),
                 all.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(i) * width + width));
    Batch batch;
    batch.inputs.emplace_back(
        "x", Tensor::of<float>({std::ssize(indices), x_.dim(1)}, std::span<const float>(out)));
    return batch;
  }

 private:
  Tensor x_;
  std::vector<std::pair<std::string, TypeInfo>> features_;
  std::vector<std::string> classes_;
};

class TemporaryFile {
 public:
  TemporaryFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "octet-search-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return (folder_ / "journal").string(); }
  std::string content() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

 private:
  std::filesystem::path folder_;
};

/// y = x w0 w1 ... with Relu between: products named l0, l1, ...
inline Graph chain(int layers, int64_t width = 8) {
  Graph g;
  g.opsets[""] = 17;
  ValueId x = g.add_input("x", {DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), width}, {}});
  for (int i = 0; i < layers; ++i) {
    const std::string name = "l" + std::to_string(i);
    const ValueId w = g.add_constant("w" + std::to_string(i),
                                     random_tensor({width, width}, static_cast<uint32_t>(40 + i)));
    if (i > 0) x = g.emit("Relu", {x}, {});
    x = g.emit("MatMul", {x, w}, {}, name);
    g.mutable_node(g.value(x).producer).name = name;
  }
  g.mark_output(x);
  return g;
}

/// Products that read what DequantizeLinear makes.
inline std::set<std::string> in_codes(const Graph& graph) {
  std::set<std::string> out;
  for (const Node* node : nodes_of(graph, "MatMul")) {
    const Node* weight = graph.producer(node->input(1));
    if (weight != nullptr && weight->is("DequantizeLinear")) out.insert(node->name);
  }
  return out;
}

/// The type of the codes of a layer's weight in a chain(), whoever reads them; kFloat32: there are
/// none.
inline DType weight_type(const Graph& graph, const std::string& layer) {
  for (const ValueId id : graph.constants())
    if (graph.value(id).name == "w" + layer.substr(1) + "_quantized")
      return graph.constant(id)->type();
  return DType::kFloat32;
}

/// Products with weights as they came.
inline std::set<std::string> in_float(const Graph& graph) {
  std::set<std::string> out;
  for (const Node* node : nodes_of(graph, "MatMul"))
    if (graph.constant(node->input(1)) != nullptr) out.insert(node->name);
  return out;
}

/// What a network does that has some layers in codes.
struct Damages {
  std::map<std::string, int64_t> wrong; ///< of 1,000 examples, by the codes of a layer
  double work = 1;                      ///< of each layer in float; in codes a quarter

  Measured measure(const std::set<std::string>& codes,
                   const std::set<std::string>& harmless = {}) const {
    Measured out{.right = 1000, .noise = 0, .ms = 0, .work = 0, .seconds = 0};
    for (const auto& [layer, count] : wrong) {
      const bool coded = codes.contains(layer);
      out.work += coded ? work / 4 : work;
      if (!coded || harmless.contains(layer)) continue;
      out.right -= count;
      out.noise += 1e-6 * static_cast<double>(count + 1);
    }
    return out;
  }
};

/// A search over `damages`; counts what it measures.
struct FakeSearch {
  Graph graph;
  Damages damages;
  Bar bar{.max_drop = 1, .min_sqnr = std::nullopt};
  Goal goal = Goal::kSpeed;
  double budget = 0;
  int64_t most_measurements = -1; ///< then it is stopped
  std::function<HeldOut(const Graph&)> check = {};
  /// Whether the codes that a network has of a layer do no damage, whatever `damages` says.
  std::function<bool(const Graph&, const std::string& layer)> is_harmless = {};
  std::function<Result<LearnRounding>()> learner = {};

  int64_t measured = 0;
  std::vector<std::string> asked;                  ///< what was to be measured or checked, in words
  std::vector<std::set<std::string>> improvements; ///< layers in codes of what was written
  Rows data{random_tensor({64, 8}, 1)};

  Result<SearchResult> run(const std::string& journal_path) {
    const auto placement = find_placement("octet").value();
    auto journal = Journal::open(journal_path, "fake");
    if (!journal.ok()) return journal.error();
    SearchTask task{.graph = graph,
                    .placement = *placement,
                    .calibration = data,
                    .options = {},
                    .bar = bar,
                    .examples = 1000,
                    .budget_seconds = budget,
                    .costs = CostBy::kModel,
                    .goal = goal,
                    .reads_codes = true,
                    .learner = learner,
                    .journal = *journal,
                    .measure = {},
                    .check = {},
                    .improved = {},
                    .progress = {}};
    task.measure = [&](const Graph* network, const Measured*) -> Result<Measured> {
      ++measured;
      std::set<std::string> codes, harmless; // by whatever recipe
      for (const auto& [layer, wrong] : damages.wrong) {
        if (network == nullptr || in_float(*network).contains(layer)) continue;
        codes.insert(layer);
        if (is_harmless && is_harmless(*network, layer)) harmless.insert(layer);
      }
      return damages.measure(codes, harmless);
    };
    task.check = [&](const Graph& network) -> Result<HeldOut> {
      return check ? check(network) : HeldOut{.examples = 1000};
    };
    task.improved = [&](const Graph* network) {
      improvements.push_back(network != nullptr ? in_codes(*network) : std::set<std::string>());
      return ok_status();
    };
    task.progress = [&](int64_t, const std::string& what) {
      asked.push_back(what);
      return most_measurements < 0 || measured < most_measurements;
    };
    return search_plan(task);
  }
};

} // namespace octet::test
