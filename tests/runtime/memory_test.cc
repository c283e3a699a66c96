// SPDX-License-Identifier: Apache-2.0
// What a session keeps of weights: one copy, packed, shared with other sessions of the process.
#include <filesystem>
#include <string>

#include "core/cpu.h"
#include "core/released.h"
#include "runtime/packs.h"
#include "support/memory.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/onnx.h"
#include "octet/session.h"

namespace octet {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;

/// Numbers that differ from place to place and from `seed` to `seed`.
Tensor weights(DType type, Shape shape, int64_t seed) {
  Tensor out = Tensor::zeros(type, std::move(shape)).value();
  for (int64_t i = 0; i < out.count(); ++i) {
    const int64_t v = (i * 37 + i / 1024 * 11 + seed * 5) % 101 - 50;
    if (type == DType::kFloat32)
      out.mutable_data<float>()[static_cast<size_t>(i)] = static_cast<float>(v) / 64;
    else
      out.mutable_data<int8_t>()[static_cast<size_t>(i)] = static_cast<int8_t>(v);
  }
  return out;
}

/// `layers` products [1, 512] by [512, 512] of f32, 1 MB each.
Graph layers(int layers) {
  Graph g;
  g.opsets[""] = 17;
  const Shape row = {1, 512};
  ValueId x = g.add_input("x", tensor_type(DType::kFloat32, row));
  for (int i = 0; i < layers; ++i) {
    const ValueId w =
        g.add_constant("w" + std::to_string(i), weights(DType::kFloat32, {512, 512}, i));
    x = g.emit("MatMul", {x, w}, {}, "product" + std::to_string(i));
  }
  g.mark_output(x);
  return g;
}

/// A file that is gone at the end of its scope; what is mapped of it stays.
class TemporaryFile {
 public:
  TemporaryFile()
      : path_(std::filesystem::temp_directory_path() /
              ("octet-memory-" + std::to_string(getpid()) + ".onnx")) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// As a model comes: mapped from a file, at no address in particular.
Graph from_file(const Graph& graph) {
  const TemporaryFile file;
  EXPECT_TRUE(save_onnx(graph, file.path(), {.overwrite = true}).ok());
  return load_onnx(file.path()).value();
}

Tensor run(Session& session, const Tensor& x) {
  return session.run(std::vector<Tensor>{x}).value()[0];
}

TEST(Memory, PackedWeightsTakeThePlaceOfTheGraphs) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizers keep memory that was given back";
  constexpr int64_t kWeights = 32 * kMegabyte;
  const Graph graph = from_file(layers(32));
  const Tensor x = weights(DType::kFloat32, {1, 512}, 0);
  const int64_t growth = test::peak_growth([&] {
    Session session = Session::create(graph, {.threads = 1}).value();
    return run(session, x).count() == 512;
  });
  ASSERT_GE(growth, 0);
  // The system maps more of a file than what is read of it.
  EXPECT_LE(growth, kWeights * 12 / 10 + 16 * kMegabyte);
}

TEST(Memory, SessionsShareWhatTheyPack) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizers keep memory that was given back";
  constexpr int64_t kWeights = 32 * kMegabyte;
  const Graph graph = from_file(layers(32));
  const Tensor x = weights(DType::kFloat32, {1, 512}, 0);
  const int64_t growth = test::peak_growth([&] {
    const int64_t before = test::status_bytes("VmRSS");
    Session session = Session::create(graph, {.threads = 1}).value();
    Session second = Session::create(graph, {.threads = 1}).value();
    if (!run(session, x).identical(run(second, x))) return false;
    malloc_trim(0);
    return test::status_bytes("VmRSS") - before <= kWeights * 12 / 10 + 4 * kMegabyte;
  });
  EXPECT_GE(growth, 0) << "other results, or more memory than one session takes";
}

TEST(Memory, PacksGoWithTheirLastHolder) {
  using runtime::PackKey, runtime::shared_pack;
  int made = 0;
  const auto make = [&]() -> std::shared_ptr<const void> { return std::make_shared<int>(++made); };
  auto first = shared_pack({"memory test", 1, {2}}, make);
  EXPECT_EQ(shared_pack({"memory test", 1, {2}}, make), first);
  EXPECT_NE(shared_pack({"memory test", 1, {3}}, make), first);
  EXPECT_NE(shared_pack({"memory test", 2, {2}}, make), first);
  EXPECT_NE(shared_pack({"other test", 1, {2}}, make), first);
  EXPECT_EQ(made, 4);
  first.reset();
  shared_pack({"memory test", 1, {2}}, make);
  EXPECT_EQ(made, 5);
}

TEST(Memory, TheGraphSaysThatItsWeightsAreGone) {
  const Graph graph = layers(1);
  const Session session = Session::create(graph, {.threads = 1}).value();
  const Graph& lowered = session.lowered();
  int gone = 0;
  for (const ValueId v : lowered.constants())
    gone += is_released(lowered.value(v).constant) ? 1 : 0;
  EXPECT_EQ(gone, 1);
  for (const Status& status :
       {make_reference_executor(lowered).ok() ? ok_status()
                                              : Status(make_reference_executor(lowered).error()),
        Session::create(lowered, {.lower = false}).ok()
            ? ok_status()
            : Status(Session::create(lowered, {.lower = false}).error()),
        save_onnx(lowered, TemporaryFile().path(), {.overwrite = true})}) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().text().find("keep_weights"), std::string::npos);
  }
}

TEST(Memory, KeptWeightsRunAnywhere) {
  const Graph graph = layers(2);
  Session session = Session::create(graph, {.threads = 1, .keep_weights = true}).value();
  Session plain = Session::create(graph, {.threads = 1}).value();
  const Tensor x = weights(DType::kFloat32, {1, 512}, 3);
  const Tensor y = run(session, x);
  EXPECT_TRUE(run(plain, x).identical(y));
  const auto reference = make_reference_executor(session.lowered()).value();
  EXPECT_TRUE(reference->run(std::vector<Tensor>{x}).value()[0].identical(y));
}

TEST(Memory, WeightsThatSomebodyElseReadsStay) {
  Graph graph = layers(1);
  const ValueId w = *graph.find_value("w0");
  graph.mark_output(graph.emit("ReduceSum", {w}, {}, "sum"));
  graph.mark_output(w);
  // What follows from shapes is computed when a plan is made, by whatever the weights are then.
  const ValueId length = graph.emit("Shape", {graph.inputs()[0]}, {}, "length");
  const ValueId scalar = graph.emit("ReduceProd", {length}, {}, "count");
  const ValueId known = graph.add_constant("table", weights(DType::kFloat32, {2, 512}, 1));
  const ValueId as_float =
      graph.emit("Cast", {length},
                 {{"to", Attribute{.value = static_cast<int64_t>(DType::kFloat32)}}}, "cast");
  const ValueId rows =
      graph.emit("Unsqueeze", {as_float, graph.add_constant("axis", Tensor::of<int64_t>({1}, {0}))},
                 {}, "row");
  graph.mark_output(graph.emit("MatMul", {rows, known}, {}, "of_shape"));
  graph.mark_output(scalar);
  const Tensor x = weights(DType::kFloat32, {1, 512}, 3);
  const Session kept = Session::create(graph, {.threads = 1, .keep_weights = true}).value();
  const auto reference = make_reference_executor(kept.lowered()).value();
  const auto want = reference->run(std::vector<Tensor>{x}).value();
  Session session = Session::create(graph, {.threads = 1}).value();
  const auto have = session.run(std::vector<Tensor>{x}).value();
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < have.size(); ++i)
    EXPECT_TRUE(have[i].identical(want[i])) << i;
}

TEST(Memory, RowsOfATableAreReadWhereTheyLie) {
  Graph graph;
  graph.opsets[""] = 17;
  const ValueId index = graph.add_input("index", tensor_type(DType::kInt64, Shape{3}));
  for (const DType type : {DType::kInt8, DType::kFloat32}) {
    const std::string name(octet::name(type));
    const ValueId table = graph.add_constant(name, weights(type, {4096, 1024}, 7));
    graph.mark_output(graph.emit("Gather", {table, index}, {}, "rows_" + name));
  }
  const Graph mapped = from_file(graph);
  const std::vector<Tensor> x = {Tensor::of<int64_t>({3}, {0, 4095, -2})};
  if (!test::kSanitized) {
    const int64_t growth = test::peak_growth(
        [&] { return Session::create(mapped, {.threads = 1}).value().run(x).ok(); });
    ASSERT_GE(growth, 0);
    EXPECT_LE(growth, 6 * kMegabyte) << "tables of 20 MB";
  }
  Session session = Session::create(mapped, {.threads = 1}).value();
  const auto have = session.run(x).value();
  const auto want = make_reference_executor(graph).value()->run(x).value();
  for (size_t i = 0; i < have.size(); ++i)
    EXPECT_TRUE(have[i].identical(want[i])) << i;
}

TEST(Memory, SessionsOfEveryInstructionSetPackTheirOwn) {
  const Graph graph = layers(1);
  const Tensor x = weights(DType::kFloat32, {1, 512}, 3);
  std::vector<Session> sessions;
  for (const Isa isa : known_isas())
    if (isa_supported(isa))
      sessions.push_back(
          Session::create(graph, {.threads = 1, .isa = std::string(isa_name(isa))}).value());
  const Tensor y = run(sessions[0], x);
  for (Session& session : sessions)
    EXPECT_TRUE(run(session, x).identical(y)) << session.isa();
}

} // namespace
} // namespace octet
