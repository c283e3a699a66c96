// SPDX-License-Identifier: Apache-2.0
// Model folders: complete or absent, moved as one, never in place of something else.
#include <filesystem>
#include <fstream>

#include "core/atomic_file.h"
#include <gtest/gtest.h>
#include <unistd.h>

#include "octet/bert.h"
#include "octet/model_folder.h"
#include "octet/models.h"
#include "octet/onnx.h"

namespace octet {
namespace {
namespace fs = std::filesystem;

class ModelFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() /
            (std::string("octet_folder_") + info->name() + "_" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string at(const std::string& name) const { return (root_ / name).string(); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(root_), {}));
  }

  fs::path root_;
};

Graph classifier(uint64_t seed) {
  BertOptions o;
  o.vocabulary = 20;
  o.positions = 8;
  o.hidden = 4;
  o.layers = 1;
  o.heads = 1;
  o.intermediate = 8;
  o.head = BertHead::kClassification;
  o.labels = {"bad", "good"};
  o.seed = seed;
  return make_bert(o).value();
}

TEST_F(ModelFolder, HoldsTheModelAndWhatBelongsToItAndMoves) {
  const Graph graph = classifier(1);
  {
    auto writer = ModelFolderWriter::create(at("bert/"), false).value();
    ASSERT_TRUE(writer.add_model(graph).ok());
    ASSERT_TRUE(writer.add_file("training.json", "{}").ok());
    EXPECT_FALSE(fs::exists(at("bert")));
    ASSERT_TRUE(writer.commit().ok());
  }
  EXPECT_EQ(entries(), 1U);
  fs::rename(at("bert"), at("moved"));
  EXPECT_EQ(resolve_model(at("moved")).value(), at("moved") + "/model.onnx");
  EXPECT_EQ(companion_folder(at("moved") + "/model.onnx").value(), at("moved"));
  EXPECT_EQ(load_onnx(resolve_model(at("moved")).value()).value().content_hash(),
            graph.content_hash());
  EXPECT_EQ(read_labels(at("moved")).value(), (std::vector<std::string>{"bad", "good"}));
  auto copy = ModelFolderWriter::create(at("copy"), false).value();
  ASSERT_TRUE(copy.add_companions(at("moved")).ok());
  EXPECT_EQ(read_labels(copy.path()).value(), (std::vector<std::string>{"bad", "good"}));
  EXPECT_TRUE(fs::exists(fs::path(copy.path()) / "training.json"));
}

TEST_F(ModelFolder, LeavesNothingBehindWithoutCommit) {
  {
    auto writer = ModelFolderWriter::create(at("bert"), false).value();
    ASSERT_TRUE(writer.add_model(classifier(1)).ok());
    EXPECT_EQ(entries(), 1U);
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(ModelFolder, ReplacesAModelFolderAsAWholeAndNothingElse) {
  for (const uint64_t seed : {1U, 2U}) {
    auto writer = ModelFolderWriter::create(at("bert"), true).value();
    ASSERT_TRUE(writer.add_model(classifier(seed)).ok());
    ASSERT_TRUE(writer.commit().ok());
  }
  EXPECT_EQ(entries(), 1U);
  EXPECT_EQ(load_onnx(resolve_model(at("bert")).value()).value().content_hash(),
            classifier(2).content_hash());
  EXPECT_EQ(ModelFolderWriter::create(at("bert"), false).error().text(),
            at("bert") + ": exists; use --force to overwrite it");

  fs::create_directories(at("photos"));
  std::ofstream(at("photos") + "/cat.jpg") << "x";
  EXPECT_EQ(ModelFolderWriter::create(at("photos"), true).error().text(),
            at("photos") + ": is no model folder, it holds no model.onnx; name another one");
  EXPECT_FALSE(ModelFolderWriter::create(at("photos") + "/cat.jpg", true).ok());
  EXPECT_FALSE(ModelFolderWriter::create(at("nowhere") + "/bert", false).ok());
}

TEST_F(ModelFolder, SaysWhatAPathIsNot) {
  EXPECT_EQ(resolve_model("cnn.onnx").value(), "cnn.onnx");
  EXPECT_EQ(resolve_model(at("")).error().text(),
            at("") + ": holds no model.onnx; name a model folder or an ONNX file");
  EXPECT_FALSE(companion_folder("cnn.onnx").ok());
  auto writer = ModelFolderWriter::create(at("bert"), false).value();
  EXPECT_FALSE(writer.add_file("../escape", "").ok());
  EXPECT_FALSE(writer.add_labels({"a\nb"}).ok());
}

} // namespace
} // namespace octet
