// SPDX-License-Identifier: Apache-2.0
// Data sets by name, their errors, and binding batches to a graph's inputs.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "data/arrays.h"
#include "data/folder.h"
#include "data/gzip.h"
#include "data/images.h"
#include "data/zeros.h"
#include "support/backend.h"
#include "support/paths.h"
#include <gtest/gtest.h>

#include "octet/dataset.h"

namespace octet {
namespace {

using test::contains;
using Indices = std::vector<int64_t>;

std::string idx_images(int count, char pixel) {
  std::string out("\0\0\x08\x03\0\0\0", 7);
  out += static_cast<char>(count);
  out += std::string("\0\0\0\x1c\0\0\0\x1c", 8);
  return out + std::string(static_cast<size_t>(count) * 784, pixel);
}

std::string idx_labels(const std::string& labels) {
  std::string out("\0\0\x08\x01\0\0\0", 7);
  out += static_cast<char>(labels.size());
  return out + labels;
}

TEST(OpenDataset, ErrorsNameKnownKindsAndTheWayOut) {
  const auto text = [](std::string_view spec) {
    return open_dataset(spec, Split::kTrain).error().text();
  };
  EXPECT_TRUE(contains(text("fashon-mnist:x"), "did you mean \"fashion-mnist\""))
      << text("fashon-mnist:x");
  EXPECT_TRUE(contains(text("zzz"), "known are fashion-mnist, mnist, images, npz, npy, generated"));
  EXPECT_TRUE(contains(text("fashion-mnist"), "write fashion-mnist:DIR"));
  EXPECT_TRUE(contains(text("generated:3"), "write generated"));
  EXPECT_TRUE(contains(text("fashion-mnist:/no/such/folder"), "octet data fetch fashion-mnist"));
  EXPECT_TRUE(contains(text("npy:x="), "npy:x=FILE,y=FILE"));
  EXPECT_TRUE(contains(text("npz:/no/such/file"), "/no/such/file"));
}

TEST(Mnist, ReadsPlainAndPackedFiles) {
  const test::Folder folder;
  const std::string images = idx_images(3, '\x33');
  folder.write("train-images-idx3-ubyte.gz", gzip_compress(std::as_bytes(std::span(images))));
  folder.write("train-labels.idx1-ubyte", idx_labels("\x01\x09\x05"));
  const auto set = open_dataset("mnist:" + folder.path(), Split::kTrain).value();
  EXPECT_EQ(set->size(), 3);
  EXPECT_EQ(set->classes().size(), 10U);
  EXPECT_EQ(set->description(), "MNIST, 3 training images");
  ASSERT_EQ(set->features().size(), 1U);
  EXPECT_EQ(set->features()[0].second.text(), "f32[N, 1, 28, 28]");
  const Batch batch = set->batch(Indices{2, 0, 2}).value();
  EXPECT_EQ(batch.inputs[0].second.shape(), (Shape{3, 1, 28, 28}));
  EXPECT_EQ(batch.inputs[0].second.at(0), static_cast<float>((0x33 / 255.0 - 0.1307) / 0.3081));
  EXPECT_EQ(batch.labels.to_ints().value(), (std::vector<int64_t>{5, 1, 5}));
  EXPECT_TRUE(contains(set->batch(Indices{3}).error().text(), "example 3"));
  EXPECT_FALSE(set->batch(Indices{-1}).ok());
  EXPECT_EQ(set->batch({}).value().labels.count(), 0);
}

TEST(Mnist, ErrorsNameBothFilesAndValues) {
  const test::Folder folder;
  const auto text = [&] {
    return open_dataset("fashion-mnist:" + folder.path(), Split::kTest).error().text();
  };
  EXPECT_TRUE(contains(text(), "no t10k-images-idx3-ubyte.gz in " + folder.path())) << text();
  folder.write("t10k-images-idx3-ubyte", idx_images(3, 'a'));
  EXPECT_TRUE(contains(text(), "t10k-labels"));
  folder.write("t10k-labels-idx1-ubyte", idx_labels("\x01\x02"));
  EXPECT_TRUE(contains(text(), "holds 3 images")) << text();
  EXPECT_TRUE(contains(text(), "holds 2 labels")) << text();
  folder.write("t10k-labels-idx1-ubyte", idx_labels("\x01\x02\x0a"));
  EXPECT_TRUE(contains(text(), "label 10 of image 2")) << text();
  folder.write("t10k-labels-idx1-ubyte", idx_images(3, 'a'));
  EXPECT_TRUE(contains(text(), "labels are u8 of shape [N]")) << text();
}

TEST(FashionMnist, ConstantsAreThoseOfTheRealSet) {
  const std::string folder = test::data_dir() + "/fashion-mnist";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "no Fashion-MNIST in " << folder << "; set OCTET_DATA to run this test";
  const auto train = open_dataset("fashion-mnist:" + folder, Split::kTrain).value();
  const auto test_set = open_dataset("fashion-mnist:" + folder, Split::kTest).value();
  EXPECT_EQ(train->size(), 60000);
  EXPECT_EQ(test_set->size(), 10000);
  Indices all(60000);
  std::vector<int> counts(10);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<int64_t>(i);
  const Batch batch = train->batch(all).value();
  double sum = 0;
  double square = 0;
  for (const float x : batch.inputs[0].second.data<float>()) {
    sum += x;
    square += static_cast<double>(x) * x;
  }
  const auto n = static_cast<double>(batch.inputs[0].second.count());
  EXPECT_NEAR(sum / n, 0, 1e-3);
  EXPECT_NEAR(square / n, 1, 1e-3);
  for (const int64_t label : batch.labels.data<int64_t>())
    ++counts[static_cast<size_t>(label)];
  for (const int count : counts)
    EXPECT_EQ(count, 6000);
}

TEST(Generated, IsTheSameEverywhereAndStandardized) {
  const auto train = open_dataset("generated", Split::kTrain).value();
  const auto held_out = open_dataset("generated", Split::kTest).value();
  EXPECT_EQ(train->size(), 12000);
  EXPECT_EQ(held_out->size(), 2000);
  EXPECT_EQ(train->classes().size(), 10U);
  Indices all(2000);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<int64_t>(i);
  const Batch batch = held_out->batch(all).value();
  double sum = 0;
  double square = 0;
  for (const float x : batch.inputs[0].second.data<float>()) {
    sum += x;
    square += static_cast<double>(x) * x;
  }
  const auto n = static_cast<double>(batch.inputs[0].second.count());
  EXPECT_NEAR(sum / n, 0, 0.03);
  EXPECT_NEAR(square / n, 1, 0.03);
  std::vector<int> counts(10);
  for (const int64_t label : batch.labels.data<int64_t>())
    ++counts[static_cast<size_t>(label)];
  for (const int count : counts)
    EXPECT_NEAR(count, 200, 60);
  EXPECT_EQ(batch.inputs[0].second.content_hash(), 1384058561932720354U);
  EXPECT_NE(batch.inputs[0].second.content_hash(),
            train->batch(all).value().inputs[0].second.content_hash());
}

TEST(Arrays, SplitsByNameAndFindsLabels) {
  const NamedTensors arrays = {{"x_train", Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
                               {"y_train", Tensor::of<uint8_t>({3}, {0, 2, 1})},
                               {"x_test", Tensor::of<float>({1, 2}, {7, 8})},
                               {"y_test", Tensor::of<int32_t>({1}, {1})}};
  const auto train = make_array_dataset(arrays, Split::kTrain, "a.npz").value();
  const auto held_out = make_array_dataset(arrays, Split::kTest, "a.npz").value();
  EXPECT_EQ(train->size(), 3);
  EXPECT_EQ(held_out->size(), 1);
  EXPECT_EQ(train->classes(), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(train->features()[0].first, "x");
  EXPECT_EQ(train->features()[0].second.text(), "f32[N, 2]");
  const Batch batch = train->batch(Indices{2, 0}).value();
  EXPECT_EQ(batch.inputs[0].second.to_doubles().value(), (std::vector<double>{5, 6, 1, 2}));
  EXPECT_EQ(batch.labels.to_ints().value(), (std::vector<int64_t>{1, 0}));
}

TEST(Arrays, LabelsThatAreNoClassesAreNumbers) {
  const Tensor x = Tensor::of<float>({3, 1}, {1, 2, 3});
  const auto numbers = [&](const Tensor& labels) {
    const auto data = make_array_dataset({{"x", x}, {"y", labels}}, Split::kTrain, "a.npz").value();
    EXPECT_TRUE(data->classes().empty());
    const Batch batch = data->batch(Indices{2, 0}).value();
    EXPECT_TRUE(batch.labels.empty());
    EXPECT_EQ(batch.targets.at(0).first, kNumberLabels);
    return batch.targets[0].second;
  };
  EXPECT_EQ(numbers(Tensor::of<double>({3}, {0.5, 1, -2})).to_doubles().value(),
            (std::vector<double>{-2, 0.5}));
  const Tensor two = numbers(Tensor::of<int64_t>({3, 2}, {0, 1, 1, 1, 0, 0}));
  EXPECT_EQ(two.shape(), (Shape{2, 2}));
  EXPECT_EQ(two.to_doubles().value(), (std::vector<double>{0, 0, 0, 1}));
  // A column of integers is classes all the same.
  const auto column = make_array_dataset({{"x", x}, {"y", Tensor::of<int32_t>({3, 1}, {0, 2, 1})}},
                                         Split::kTrain, "a.npz")
                          .value();
  EXPECT_EQ(column->classes().size(), 3U);
}

TEST(Arrays, ErrorsNameTheArray) {
  const Tensor x = Tensor::of<float>({3, 1}, {1, 2, 3});
  const auto text = [&](const NamedTensors& arrays) {
    return make_array_dataset(arrays, Split::kTest, "a.npz").error().text();
  };
  EXPECT_TRUE(contains(text({}), "no array for the test split"));
  EXPECT_TRUE(contains(text({{"x_train", x}}), "no array for the test split"));
  EXPECT_TRUE(contains(text({{"x", x}, {"y", Tensor::of<int64_t>({2}, {1, 2})}}),
                       "\"y\" has 2 examples, \"x\" has 3"));
  EXPECT_TRUE(contains(text({{"x", x}, {"y", Tensor::strings({3}, {"a", "b", "c"}).value()}}),
                       "labels are integers (classes) or floats"));
  EXPECT_TRUE(
      contains(text({{"x", x}, {"y", Tensor::of<int64_t>({3}, {0, -1, 2})}}), "label -1 at 1"));
  EXPECT_TRUE(contains(text({{"x", Tensor::scalar<float>(1)}}), "[]"));
}

TEST(Arrays, NanIsAnErrorOfItsExample) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor ones = Tensor::of<float>({3, 2}, {1, 1, 1, 1, 1, 1}),
               x = Tensor::of<float>({3, 2}, {1, 2, 3, 4, kNan, 6}),
               wide = Tensor::of<double>({3, 1}, {1, kNan, INFINITY});
  const auto one = make_array_dataset({{"a", ones}, {"x", x}}, Split::kTrain, "a.npz").value();
  EXPECT_TRUE(one->batch(Indices{0, 1}).ok());
  EXPECT_TRUE(contains(one->batch(Indices{1, 2}).error().text(), "\"x\" holds nan in example 2"));
  const auto two = make_array_dataset({{"x", wide}}, Split::kTrain, "a.npz").value();
  EXPECT_TRUE(contains(two->batch(Indices{2, 1}).error().text(), "\"x\" holds nan in example 1"));
  EXPECT_TRUE(two->batch(Indices{2}).ok()); // a mask may be infinite
}

TEST(Arrays, OpensFiles) {
  const test::Folder folder;
  const NamedTensors arrays = {{"x", Tensor::of<float>({2, 1}, {1, 2})},
                               {"y", Tensor::of<int64_t>({2}, {0, 1})}};
  ASSERT_TRUE(write_npz(folder.path("a.npz"), arrays, Overwrite::kNo).ok());
  ASSERT_TRUE(write_npz(folder.path("x.npz"), {arrays[0]}, Overwrite::kNo).ok());
  EXPECT_EQ(open_dataset("npz:" + folder.path("a.npz"), Split::kTest).value()->size(), 2);
  const auto unlabelled = open_dataset("npz:" + folder.path("x.npz"), Split::kTest).value();
  EXPECT_TRUE(unlabelled->classes().empty());
  EXPECT_TRUE(unlabelled->batch(Indices{0}).value().labels.empty());
}

Graph graph_with(const std::vector<std::pair<std::string, TypeInfo>>& inputs) {
  Graph graph;
  for (const auto& [name, type] : inputs)
    graph.add_input(name, type);
  return graph;
}

TypeInfo type_of(DType type, std::vector<Dim> dims) {
  TypeInfo info;
  info.type = type;
  info.shape = std::move(dims);
  return info;
}

TEST(BindInputs, ByNameThenByPosition) {
  Batch batch;
  batch.inputs = {{"ids", Tensor::of<int64_t>({1, 2}, {7, 8})},
                  {"mask", Tensor::of<int64_t>({1, 2}, {1, 0})}};
  const TypeInfo type = type_of(DType::kInt64, {Dim::symbol("N"), Dim(2)});
  const auto first = [&](const Graph& graph) {
    return bind_inputs(graph, batch).value()[0].to_ints().value();
  };
  EXPECT_EQ(first(graph_with({{"mask", type}, {"ids", type}})), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(first(graph_with({{"mask", type}, {"other", type}})), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(first(graph_with({{"mask", type}})), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(first(graph_with({{"a", type}, {"b", type}})), (std::vector<int64_t>{7, 8}));
  const Result<std::vector<Tensor>> none = bind_inputs(graph_with({{"a", type}}), batch);
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(contains(none.error().text(), "\"a\" i64[N, 2]")) << none.error().text();
  EXPECT_TRUE(contains(none.error().text(), "ids, mask"));
}

TEST(BindInputs, ConvertsWhatIsExactAndSaysWhatIsNot) {
  Batch batch;
  batch.inputs = {{"x", Tensor::of<int64_t>({2}, {1, 300})}};
  const auto bound = [&](DType type, std::vector<Dim> dims) {
    return bind_inputs(graph_with({{"x", type_of(type, std::move(dims))}}), batch);
  };
  const Dim n = Dim::symbol("N");
  EXPECT_EQ(bound(DType::kInt32, {n}).value()[0].at(1), 300);
  EXPECT_EQ(bound(DType::kFloat32, {n}).value()[0].at(1), 300);
  const Error narrow = bound(DType::kUint8, {n}).error();
  EXPECT_TRUE(contains(narrow.text(), "feature \"x\" i64[2]")) << narrow.text();
  EXPECT_TRUE(contains(narrow.text(), "input \"x\" u8[N]"));
  EXPECT_TRUE(contains(bound(DType::kInt64, {Dim(1)}).error().text(), "dimension 0 is 2"));
  EXPECT_TRUE(contains(bound(DType::kInt64, {n, n}).error().text(), "ranks are 1 and 2"));
  batch.inputs = {{"x", Tensor::of<float>({2}, {0.1F, 2})}};
  EXPECT_NEAR(bound(DType::kFloat16, {n}).value()[0].at(0), 0.1, 1e-4);
  EXPECT_FALSE(bound(DType::kInt64, {n}).ok());
}

TEST(BindInputs, OneExampleMayBeAWholeInput) {
  Batch batch;
  batch.inputs = {{"rate", Tensor::of<int64_t>({1}, {16000})},
                  {"state", Tensor::of<float>({1, 2, 1, 2}, {1, 2, 3, 4})}};
  const Graph graph =
      graph_with({{"rate", type_of(DType::kInt64, {})},
                  {"state", type_of(DType::kFloat32, {Dim(2), Dim::symbol("N"), Dim(2)})}});
  const auto bound = bind_inputs(graph, batch);
  ASSERT_TRUE(bound.ok()) << bound.error().text();
  EXPECT_EQ(bound->at(0).shape(), Shape{});
  EXPECT_EQ(bound->at(0).at(0), 16000);
  EXPECT_EQ(bound->at(1).shape(), (Shape{2, 1, 2}));
  batch.inputs[0].second = Tensor::of<int64_t>({2}, {16000, 8000});
  EXPECT_TRUE(contains(bind_inputs(graph, batch).error().text(), "use batches of one"));
}

TEST(BindInputs, TheBatchIsTheFirstInputs) {
  const Dim n = Dim::symbol("N");
  const auto data = [&](const NamedTensors& arrays) {
    return make_array_dataset(arrays, Split::kTrain, "arrays").value();
  };
  const auto rows = data({{"x", Tensor::zeros(DType::kFloat32, {5, 4}).value()}});
  const auto batch = [&](const std::vector<std::pair<std::string, TypeInfo>>& inputs) {
    return batch_for(graph_with(inputs), *rows, 64);
  };
  const auto f32 = [](std::vector<Dim> dims) { return type_of(DType::kFloat32, std::move(dims)); };
  EXPECT_EQ(batch({{"x", f32({n, 4})}}), 64);
  EXPECT_EQ(batch({{"x", f32({Dim(8), 4})}, {"state", f32({Dim(2), 8, 4})}}), 8);
  EXPECT_EQ(batch({{"rate", f32({})}, {"x", f32({n, 4})}, {"state", f32({Dim(2), n, 4})}}), 64);
  EXPECT_EQ(batch({{"x", f32({n, 4})}, {"mask", f32({Dim(1), 4})}}), 1);
  const auto graphs = data({{"nodes", Tensor::zeros(DType::kFloat32, {3, 40, 4}).value()},
                            {"edges", Tensor::zeros(DType::kInt64, {3, 2, 70}).value()}});
  const auto edges = [](const Dim& count) { return type_of(DType::kInt64, {Dim(2), count}); };
  for (const Dim& count : {n, Dim(40)}) {
    const Graph whole = graph_with({{"nodes", f32({count, 4})}, {"edges", edges(70)}});
    EXPECT_EQ(batch_for(whole, *graphs, 64), 1);
    EXPECT_TRUE(bind_inputs(whole, graphs->batch(Indices{1}).value()).ok());
  }
  const Graph some = graph_with({{"nodes", f32({n, 40, 4})}, {"edges", edges(n)}});
  EXPECT_EQ(batch_for(some, *graphs, 64), 64);
}

TEST(WithZeros, FeedsStates) {
  const test::Folder folder;
  const auto data = open_dataset("generated", Split::kTest).value();
  const std::string feature = data->features().front().first;
  Graph graph = graph_with({{feature, data->features().front().second},
                            {"h", type_of(DType::kFloat16, {Dim(2), Dim::symbol("N"), Dim(3)})}});
  const auto both = with_zeros(data, graph, {"h"});
  ASSERT_TRUE(both.ok()) << both.error().text();
  EXPECT_EQ((*both)->size(), data->size());
  EXPECT_EQ((*both)->features().size(), data->features().size() + 1);
  const auto inputs = bind_inputs(graph, (*both)->batch(Indices{1, 2, 3}).value());
  ASSERT_TRUE(inputs.ok()) << inputs.error().text();
  EXPECT_EQ(inputs->at(0).dim(0), 3);
  EXPECT_EQ(inputs->at(1).type(), DType::kFloat16);
  EXPECT_EQ(inputs->at(1).shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(inputs->at(1).at(17), 0);
  EXPECT_TRUE(
      contains(bind_inputs(graph, data->batch(Indices{1}).value()).error().text(), "--zeros"));
  EXPECT_TRUE(contains(with_zeros(data, graph, {"i"}).error().text(), "no such input"));
  EXPECT_TRUE(contains(with_zeros(data, graph, {feature}).error().text(), "leave one"));
}

} // namespace
} // namespace octet
