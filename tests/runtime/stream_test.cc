// SPDX-License-Identifier: Apache-2.0
// Outputs that are handed over when they are made: the same bits as those that are kept, each once,
// and memory for what is alive at one time.
#include "runtime/w1_graphs.h"
#include "support/memory.h"
#include <gtest/gtest.h>

#include "octet/session.h"

namespace octet {
namespace {

using test::QdqForm;
using test::random_images;
using test::W1Builder;

/// What a run hands over, in the outputs' order; each must come once.
template <class Runner>
std::vector<Tensor> streamed(Runner& runner, const Graph& graph, const Tensor& x) {
  std::vector<Tensor> out(graph.outputs().size());
  const Status ran =
      runner.stream(std::vector<Tensor>{x}, [&](size_t output, const Tensor& value) -> Status {
        EXPECT_TRUE(out.at(output).empty()) << "output " << output << " came twice";
        out[output] = value.clone();
        return ok_status();
      });
  EXPECT_TRUE(ran.ok()) << ran.error().text();
  return out;
}

std::vector<Tensor> reference(const Graph& graph, const Tensor& x) {
  return make_reference_executor(graph).value()->run(std::vector<Tensor>{x}).value();
}

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(got[i].identical(want[i])) << "output " << i;
}

/// Marks every float that a node makes.
Graph tapped(Graph graph) {
  for (const NodeId id : graph.nodes())
    for (const ValueId out : graph.node(id).outputs)
      if (!graph.node(id).is("QuantizeLinear") && !graph.is_output(out)) graph.mark_output(out);
  return graph;
}

/// `layers` times Conv and Relu on [N, 8, 32, 32].
Graph conv_chain(int layers) {
  Graph g;
  g.opsets[""] = 17;
  ValueId x =
      g.add_input("x", {DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), 8, 32, 32}, {}});
  std::vector<float> values(size_t{8} * 8 * 3 * 3);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (static_cast<float>(i % 13) - 6) / 40;
  const ValueId w =
      g.add_constant("w", Tensor::of<float>({8, 8, 3, 3}, std::span<const float>(values)));
  Attributes pads;
  pads["pads"].value = std::vector<int64_t>{1, 1, 1, 1};
  for (int i = 0; i < layers; ++i)
    x = g.emit("Relu", {g.emit("Conv", {x, w}, pads)}, {});
  g.mark_output(x);
  return g;
}

Tensor chain_input(int64_t batch) {
  const Tensor images = random_images(batch * 11, 3);
  return Tensor::of<float>({batch, 8, 32, 32},
                           images.data<float>().first(static_cast<size_t>(batch * 8192)));
}

Graph odd_outputs() {
  Graph g;
  g.opsets[""] = 17;
  const ValueId x = g.add_input("x", {DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), 6}, {}});
  const ValueId c = g.add_constant("c", Tensor::of<float>({2}, {1, 2}));
  const ValueId rows = g.add_constant("rows", Tensor::of<int64_t>({2}, {-1, 3}));
  const ValueId r = g.emit("Relu", {x}, {});
  const ValueId flat = g.emit("Reshape", {r, rows}, {});
  const ValueId moved = g.emit("Reshape", {x, rows}, {});
  const ValueId sizes = g.emit("Shape", {x}, {});
  const ValueId y = g.emit("Add", {r, x}, {});
  g.set_outputs({x, c, r, flat, r, moved, sizes, y, flat, x});
  return g;
}

TEST(Stream, InputsConstantsViewsAndRepeatedOutputsComeOnceEach) {
  const Graph graph = odd_outputs();
  const Tensor x = Tensor::of<float>({2, 6}, {-3, 2, -1, 0, 1, 2, 3, -4, 5, 6, -7, 8});
  const std::vector<Tensor> want = reference(graph, x);
  expect_same(streamed(*make_reference_executor(graph).value(), graph, x), want);
  Session session = Session::create(graph, {.threads = 2, .keep_weights = true}).value();
  SessionContext context = session.context();
  for (int i = 0; i < 2; ++i) { // both kinds of plans share a context
    expect_same(streamed(context, graph, x), want);
    const auto kept = context.run(std::vector<Tensor>{x});
    ASSERT_TRUE(kept.ok()) << kept.error().text();
    expect_same({kept->begin(), kept->end()}, want);
  }
  expect_same(streamed(*make_native_executor(graph).value(), graph, x), want);
}

/// A tensor whose axis axes[i] is axis i of `stored`, element by element.
Tensor in_own_order(const Tensor& stored, std::span<const int64_t> axes) {
  if (axes.empty()) return stored.clone();
  const auto rank = axes.size();
  Shape shape(rank);
  std::vector<int64_t> strides(rank);
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0; stride *= stored.shape()[i]) {
    shape[static_cast<size_t>(axes[i])] = stored.shape()[i];
    strides[static_cast<size_t>(axes[i])] = stride;
  }
  std::vector<float> out(static_cast<size_t>(stored.count()));
  for (size_t at = 0; at < out.size(); ++at) {
    auto left = static_cast<int64_t>(at);
    int64_t from = 0;
    for (size_t i = rank; i-- > 0; left /= shape[i])
      from += left % shape[i] * strides[i];
    out[at] = stored.data<float>()[static_cast<size_t>(from)];
  }
  return Tensor::of<float>(shape, std::span<const float>(out));
}

/// As `streamed`, of outputs as they lie; `turned` counts those in another order.
template <class Runner>
std::vector<Tensor>
streamed_as_stored(Runner& runner, const Graph& graph, const Tensor& x, int& turned) {
  std::vector<Tensor> out(graph.outputs().size());
  turned = 0;
  const Status ran = runner.stream_stored(
      std::vector<Tensor>{x},
      [&](size_t output, const Tensor& stored, std::span<const int64_t> axes) -> Status {
        EXPECT_TRUE(out.at(output).empty()) << "output " << output << " came twice";
        out[output] = in_own_order(stored, axes);
        turned += axes.empty() ? 0 : 1;
        return ok_status();
      });
  EXPECT_TRUE(ran.ok()) << ran.error().text();
  return out;
}

TEST(Stream, OutputsComeAsTheyLieToWhoTakesThemSo) {
  const Graph graph = tapped(conv_chain(5));
  const Session session = Session::create(graph, {.threads = 2, .keep_weights = true}).value();
  SessionContext context = session.context();
  for (const int64_t batch : {2, 1, 3}) {
    const Tensor x = chain_input(batch);
    const std::vector<Tensor> want = reference(session.lowered(), x);
    int turned = 0;
    expect_same(streamed_as_stored(context, graph, x, turned), want);
    EXPECT_EQ(turned, 10) << "all are channels-last";
    expect_same(streamed(context, graph, x), want); // the plans do not mix
  }
  const Tensor x = chain_input(1);
  int turned = 0;
  expect_same(streamed_as_stored(*make_reference_executor(graph).value(), graph, x, turned),
              reference(graph, x));
  EXPECT_EQ(turned, 0);
}

/// Transposes that are read, repeated, made of an input or a constant, tapped on both sides, and
/// that only a rest reaches, which begins once data has told extents.
Graph transposes() {
  Graph g;
  g.opsets[""] = 17;
  const auto perm = [](std::vector<int64_t> axes) {
    Attributes out;
    out["perm"].value = std::move(axes);
    return out;
  };
  const ValueId x =
      g.add_input("x", {DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), 3, 4}, {}});
  const ValueId c = g.add_constant("c", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const ValueId relu = g.emit("Relu", {x}, {});
  const ValueId of_input = g.emit("Transpose", {x}, perm({2, 0, 1}));
  const ValueId of_constant = g.emit("Transpose", {c}, perm({1, 0}));
  const ValueId only_output = g.emit("Transpose", {relu}, perm({1, 2, 0}));
  const ValueId is_read = g.emit("Transpose", {relu}, perm({0, 2, 1}));
  const ValueId reader = g.emit("Neg", {is_read}, {});
  const ValueId reversed = g.emit("Transpose", {reader}, {});
  const ValueId places = g.emit("NonZero", {relu}, {});
  Attributes f32;
  f32["to"].value = int64_t{1};
  const ValueId floats = g.emit("Cast", {places}, f32);
  const ValueId late = g.emit("Transpose", {floats}, perm({1, 0}));
  g.set_outputs({of_input, of_constant, only_output, relu, is_read, reader, reversed, only_output,
                 floats, late});
  return g;
}

TEST(Stream, TransposesOfOutputsAreLeftOutWhereNobodyElseReadsThem) {
  const Graph graph = transposes();
  Session session = Session::create(graph, {.threads = 1, .keep_weights = true}).value();
  SessionContext context = session.context();
  for (const int64_t rows : {2, 1, 2}) {
    const Tensor x = Tensor::of<float>({rows, 3, 4}, random_images(1, static_cast<uint32_t>(rows))
                                                         .data<float>()
                                                         .first(static_cast<size_t>(rows * 12)));
    int turned = 0;
    expect_same(streamed_as_stored(context, graph, x, turned), reference(graph, x));
    EXPECT_GE(turned, 2);
  }
}

TEST(Stream, LayersOfImagesTakeThePlaceOfAFew) {
  constexpr int kLayers = 24;
  const Graph graph = tapped(conv_chain(kLayers));
  const Tensor x = chain_input(2);
  const auto value_bytes = x.bytes().size();
  const Session session = Session::create(graph, {.threads = 2, .keep_weights = true}).value();
  SessionContext streams = session.context(), keeps = session.context();
  expect_same(streamed(streams, graph, x), reference(session.lowered(), x));
  EXPECT_LE(streams.arena_bytes(), 5 * value_bytes) << "its input, its result, both in NCHW too";
  ASSERT_TRUE(keeps.run(std::vector<Tensor>{x}).ok());
  EXPECT_GE(keeps.arena_bytes(), size_t{2} * kLayers * value_bytes);
}

TEST(Stream, CodesAreDequantizedWhereTheyAreMade) {
  for (const QdqForm form : {QdqForm::kTensorRt, QdqForm::kOnnxRuntime, QdqForm::kUint8}) {
    const Graph graph = tapped(W1Builder(form).build());
    const Tensor x = random_images(16, 5);
    const Session session = Session::create(graph, {.threads = 2, .keep_weights = true}).value();
    SessionContext streams = session.context(), keeps = session.context();
    expect_same(streamed(streams, graph, x), reference(session.lowered(), x));
    ASSERT_TRUE(keeps.run(std::vector<Tensor>{x}).ok());
    EXPECT_LT(streams.arena_bytes(), keeps.arena_bytes() / 2);
  }
}

TEST(Stream, TheReferenceLetsGoOfWhatNoNodeReads) {
  constexpr int kLayers = 12;
  const Graph graph = tapped(conv_chain(kLayers));
  const Tensor x = chain_input(2);
  const auto executor = make_reference_executor(graph).value();
  const int64_t before = test::live_bytes();
  int64_t most = 0;
  const Status ran = executor->stream(std::vector<Tensor>{x}, [&](size_t, const Tensor&) -> Status {
    most = std::max(most, test::live_bytes() - before);
    return ok_status();
  });
  ASSERT_TRUE(ran.ok());
  EXPECT_LE(most, static_cast<int64_t>(4 * x.bytes().size())) << "of " << 2 * kLayers << " values";
}

TEST(Stream, AnErrorOfTheTapEndsTheRun) {
  const Graph graph = tapped(conv_chain(4));
  const Tensor x = chain_input(1);
  const auto expect_end = [&](Executor& executor) {
    int calls = 0;
    const Status stopped =
        executor.stream(std::vector<Tensor>{x}, [&](size_t, const Tensor&) -> Status {
          if (++calls == 3) return Error("enough", ErrorCode::kCancelled);
          return ok_status();
        });
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code(), ErrorCode::kCancelled);
    EXPECT_EQ(stopped.error().text(), "enough");
    EXPECT_EQ(calls, 3);
    expect_same(streamed(executor, graph, x), executor.run(std::vector<Tensor>{x}).value());
  };
  expect_end(*make_reference_executor(graph).value());
  expect_end(*make_native_executor(graph, {.threads = 1}).value());
}

TEST(Stream, AnExecutorThatCannotHandsOverAtTheEnd) {
  class Kept final : public Executor {
   public:
    explicit Kept(const Graph& graph) : inner_(make_reference_executor(graph).value()) {}
    Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
      return inner_->run(inputs);
    }

   private:
    std::unique_ptr<Executor> inner_;
  };
  const Graph graph = odd_outputs();
  const Tensor x = Tensor::of<float>({1, 6}, {-3, 2, -1, 0, 1, 2});
  Kept kept(graph);
  expect_same(streamed(kept, graph, x), reference(graph, x));
}

} // namespace
} // namespace octet
