// SPDX-License-Identifier: Apache-2.0
// External data: written beside the model, mapped when read, refused outside the folder, and found
// beyond 2 GiB and 4 GiB.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "onnx/schema.h"
#include "onnx/wire.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "octet/onnx.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
namespace pb = onnx;

/// An empty folder that goes with the test.
class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "octet-external-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A model with one f32 constant of 4 elements at a place in a file.
  std::string model_at(const std::string& location, const std::string& offset) const {
    pb::Encoder tensor;
    tensor.integer(pb::tensor_proto::kDims, 4);
    tensor.integer(pb::tensor_proto::kDataType, 1);
    tensor.bytes(pb::tensor_proto::kName, "w");
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location},
                                     {"offset", offset},
                                     {"length", "16"}}) {
      pb::Encoder e;
      e.bytes(pb::entry::kKey, key);
      e.bytes(pb::entry::kValue, value);
      tensor.message(pb::tensor_proto::kExternalData, e);
    }
    tensor.integer(pb::tensor_proto::kDataLocation, 1);
    pb::Encoder graph, model;
    graph.message(pb::graph_proto::kInitializer, tensor);
    model.message(pb::model::kGraph, graph);
    std::string path = (folder_ / "sub" / "model.onnx").string();
    fs::create_directories(folder_ / "sub");
    std::ofstream(path, std::ios::binary) << model.str();
    return path;
  }
  std::string error_at(const std::string& location, const std::string& offset = "0") const {
    const Result<Graph> graph = load_onnx(model_at(location, offset));
    return graph.ok() ? "no error" : graph.error().text();
  }

  fs::path folder_;
};

Graph two_constants() {
  Graph g;
  g.opsets[""] = 17;
  const ValueId x = g.add_input("x", tensor_type(DType::kFloat32, Shape{64, 8}));
  Tensor big = Tensor::zeros(DType::kFloat32, {64, 8}).value();
  for (size_t i = 0; i < 512; ++i)
    big.mutable_data<float>()[i] = static_cast<float>(i) / 7;
  const ValueId w = g.add_constant("w", big);
  const ValueId b = g.add_constant("b", Tensor::of<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8}));
  g.mark_output(g.emit("Add", {g.emit("Mul", {x, w}), b}));
  return g;
}

TEST_F(ExternalData, IsWrittenBesideTheModelAndReadsBackEqual) {
  const Graph g = two_constants();
  const std::string path = (folder_ / "m.onnx").string();
  ASSERT_TRUE(save_onnx(g, path, {.external = SaveOptions::External::kAlways}).ok());
  EXPECT_EQ(fs::file_size(folder_ / "m.onnx.data"), 2048u);
  EXPECT_LT(fs::file_size(path), 1000u);
  const Result<Graph> back = load_onnx(path);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->content_hash(), g.content_hash());
  // Overwriting the files that the graph is mapped from keeps the graph intact.
  const SaveOptions again{.overwrite = true, .external = SaveOptions::External::kAlways};
  ASSERT_TRUE(save_onnx(*back, path, again).ok());
  EXPECT_EQ(back->content_hash(), g.content_hash());
  EXPECT_EQ(load_onnx(path)->content_hash(), g.content_hash());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
}

TEST_F(ExternalData, ThresholdDecidesAndNeverMeansOneFile) {
  const Graph g = two_constants();
  const auto files = [&](const std::string& name, const SaveOptions& options) {
    const Status saved = save_onnx(g, (folder_ / name / "m.onnx").string(), options);
    EXPECT_TRUE(saved.ok()) << saved.error().text();
    return std::distance(fs::directory_iterator(folder_ / name), {});
  };
  for (const char* name : {"a", "b", "c"})
    fs::create_directories(folder_ / name);
  EXPECT_EQ(files("a", {}), 1);
  EXPECT_EQ(files("b", {.external_threshold_bytes = 1000}), 2);
  EXPECT_EQ(files("c", {.external = SaveOptions::External::kNever, .external_threshold_bytes = 1}),
            1);
}

TEST_F(ExternalData, AnExistingFileIsKeptUnlessOverwritingIsAllowed) {
  const Graph g = two_constants();
  const std::string path = (folder_ / "m.onnx").string();
  ASSERT_TRUE(save_onnx(g, path).ok());
  EXPECT_FALSE(save_onnx(g, path).ok());
  EXPECT_TRUE(save_onnx(g, path, {.overwrite = true}).ok());
  EXPECT_FALSE(save_onnx(g, (folder_ / "missing" / "m.onnx").string()).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(ExternalData, AModelBesideKeepsTheDataThatItShares) {
  const SaveOptions always = {.overwrite = true, .external = SaveOptions::External::kAlways};
  const Graph g = two_constants();
  const std::string path = (folder_ / "m.onnx").string();
  ASSERT_TRUE(save_onnx(g, path, always).ok());
  fs::copy_file(path, folder_ / "copy.onnx");
  ASSERT_TRUE(save_onnx(g, path, always).ok());
  EXPECT_TRUE(load_onnx((folder_ / "copy.onnx").string()).ok());
  EXPECT_TRUE(load_onnx(path).ok());
  fs::remove(folder_ / "copy.onnx");
  ASSERT_TRUE(save_onnx(g, path, always).ok());
  size_t files = 0;
  for (const auto& file : fs::directory_iterator(folder_))
    files += file.path().extension() == ".onnx" ? 0 : 1;
  EXPECT_EQ(files, 1U);
}

TEST_F(ExternalData, LocationsThatLeaveTheFolderAreRefused) {
  std::ofstream(folder_ / "secret.bin") << std::string(64, 'x');
  EXPECT_NE(error_at("../secret.bin").find("\"..\" is refused"), std::string::npos);
  EXPECT_NE(error_at("a/../../secret.bin").find("\"..\" is refused"), std::string::npos);
  EXPECT_NE(error_at((folder_ / "secret.bin").string()).find("absolute"), std::string::npos);
  EXPECT_NE(error_at("").find("no location"), std::string::npos);
  EXPECT_NE(error_at(std::string("a\0b", 3)).find("zero byte"), std::string::npos);
  fs::create_directories(folder_ / "sub");
  fs::create_symlink(folder_ / "secret.bin", folder_ / "sub" / "link.bin");
  EXPECT_NE(error_at("link.bin").find("leads out of"), std::string::npos);
  fs::create_directory_symlink(folder_, folder_ / "sub" / "up");
  EXPECT_NE(error_at("up/secret.bin").find("leads out of"), std::string::npos);
  EXPECT_NE(error_at("missing.bin").find("missing.bin"), std::string::npos);
  fs::create_directories(folder_ / "sub" / "folder");
  EXPECT_NE(error_at("folder").find("no regular file"), std::string::npos);
  std::ofstream(folder_ / "sub" / "real.bin") << std::string(64, 'x');
  fs::create_symlink("real.bin", folder_ / "sub" / "inside.bin");
  EXPECT_EQ(error_at("inside.bin"), "no error");
  EXPECT_EQ(error_at("real.bin", "48"), "no error");
  EXPECT_NE(error_at("real.bin", "49").find("pass the end"), std::string::npos);
  EXPECT_NE(error_at("real.bin", "9223372036854775807").find("pass the end"), std::string::npos);
  EXPECT_NE(error_at("real.bin", "99999999999999999999").find("expected a number"),
            std::string::npos);
  EXPECT_NE(error_at("real.bin", "-4").find("expected a number"), std::string::npos);
}

TEST_F(ExternalData, OffsetsBeyondTwoAndFourGibibytesAreRead) {
  fs::create_directories(folder_ / "sub");
  const std::string data = (folder_ / "sub" / "sparse.bin").string();
  const int file = open(data.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_GE(file, 0);
  const float values[4] = {1, 2, 3, 4};
  const off_t places[] = {(off_t{1} << 31) + 3, (off_t{1} << 32) + 8};
  for (const off_t place : places)
    ASSERT_EQ(pwrite(file, values, sizeof(values), place), 16);
  close(file);
  for (const off_t place : places) {
    const Result<Graph> g = load_onnx(model_at("sparse.bin", std::to_string(place)));
    ASSERT_TRUE(g.ok()) << g.error().text();
    const Tensor& w = g->value(*g->find_value("w")).constant;
    EXPECT_EQ(w.to_floats().value(), (std::vector<float>{1, 2, 3, 4}));
  }
}

TEST_F(ExternalData, AModelAboveTwoGibibytesIsNotWrittenAsOneFile) {
  const std::string data = (folder_ / "sparse.bin").string();
  std::ofstream(data).close();
  fs::resize_file(data, uint64_t{9} << 28); // 2.25 GiB, all holes
  std::shared_ptr<const Buffer> mapped = Buffer::map(data).value();
  Graph g;
  g.opsets[""] = 17;
  const ValueId w =
      g.add_constant("w", Tensor::view(DType::kUint8, {int64_t{9} << 28}, mapped, 0).value());
  g.mark_output(g.emit("Identity", {w}));
  const Result<std::string> bytes = serialize_onnx(g);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.error().text().find("external data"), std::string::npos);
  const Status saved =
      save_onnx(g, (folder_ / "m.onnx").string(), {.external = SaveOptions::External::kNever});
  EXPECT_FALSE(saved.ok());
  EXPECT_FALSE(fs::exists(folder_ / "m.onnx"));
}

} // namespace
} // namespace octet
