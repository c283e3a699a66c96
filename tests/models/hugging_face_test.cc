// SPDX-License-Identifier: Apache-2.0
// Import and export of Hugging Face folders: names and layouts of each family, round trips, and
// what is refused. Numbers are compared with independent runs by minilm.py.
#include <filesystem>
#include <fstream>
#include <set>

#include "core/atomic_file.h"
#include "models/bert_builder.h"
#include "models/bert_config.h"
#include "models/safetensors.h"
#include <gtest/gtest.h>
#include <unistd.h>

#include "octet/hugging_face.h"

namespace octet {
namespace {
namespace fs = std::filesystem;

BertOptions tiny(BertFamily family, BertHead head) {
  BertOptions o;
  o.family = family;
  o.vocabulary = 20;
  o.positions = 8;
  o.type_vocabulary = family == BertFamily::kBert ? 2 : 0;
  o.hidden = 4;
  o.layers = 1;
  o.heads = 2;
  o.intermediate = 6;
  o.initializer_range = 0.3;
  o.pooler = family == BertFamily::kBert;
  o.head = head;
  return o;
}

class HuggingFace : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              (std::string("octet_hf_") + info->name() + "_" + std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  void write(const BertOptions& options) const {
    const Status status = export_hugging_face(make_bert(options).value(), folder_.string(), true);
    ASSERT_TRUE(status.ok()) << status.error().text();
  }
  std::vector<NamedWeight> weights() const {
    return read_safetensors(at("model.safetensors")).value();
  }
  std::string import_error(const HuggingFaceImport& options = {}) const {
    const auto out = import_hugging_face(folder_.string(), options);
    return out.ok() ? "imported" : out.error().text();
  }

  fs::path folder_;
};

std::set<std::string> names(const std::vector<NamedWeight>& weights) {
  std::set<std::string> out;
  for (const NamedWeight& w : weights)
    out.insert(w.name);
  return out;
}

TEST_F(HuggingFace, WritesTheNamesOfBertForSequenceClassification) {
  write(tiny(BertFamily::kBert, BertHead::kClassification));
  const std::string layer = "bert.encoder.layer.0.";
  std::set<std::string> want = {"bert.embeddings.word_embeddings.weight",
                                "bert.embeddings.position_embeddings.weight",
                                "bert.embeddings.token_type_embeddings.weight"};
  for (const std::string& name :
       {std::string("bert.embeddings.LayerNorm"), layer + "attention.self.query",
        layer + "attention.self.key", layer + "attention.self.value",
        layer + "attention.output.dense", layer + "attention.output.LayerNorm",
        layer + "intermediate.dense", layer + "output.dense", layer + "output.LayerNorm",
        std::string("bert.pooler.dense"), std::string("classifier")}) {
    want.insert(name + ".weight");
    want.insert(name + ".bias");
  }
  EXPECT_EQ(names(weights()), want);
  for (const NamedWeight& w : weights())
    if (w.name == layer + "intermediate.dense.weight") {
      EXPECT_EQ(w.tensor.shape(), (Shape{6, 4})); // [out, in]
    }
}

TEST_F(HuggingFace, WritesTheNamesOfDistilBertForMaskedLm) {
  write(tiny(BertFamily::kDistilBert, BertHead::kMaskedLm));
  const std::string layer = "distilbert.transformer.layer.0.";
  std::set<std::string> want = {"distilbert.embeddings.word_embeddings.weight",
                                "distilbert.embeddings.position_embeddings.weight",
                                "vocab_projector.bias"};
  for (const std::string& name :
       {std::string("distilbert.embeddings.LayerNorm"), layer + "attention.q_lin",
        layer + "attention.k_lin", layer + "attention.v_lin", layer + "attention.out_lin",
        layer + "sa_layer_norm", layer + "ffn.lin1", layer + "ffn.lin2",
        layer + "output_layer_norm", std::string("vocab_transform"),
        std::string("vocab_layer_norm")}) {
    want.insert(name + ".weight");
    want.insert(name + ".bias");
  }
  EXPECT_EQ(names(weights()), want);
}

TEST_F(HuggingFace, BringsBackTheSameGraphForEveryFamilyAndHead) {
  const std::pair<BertFamily, BertHead> cases[] = {
      {BertFamily::kBert, BertHead::kNone},
      {BertFamily::kBert, BertHead::kClassification},
      {BertFamily::kBert, BertHead::kMaskedLm},
      {BertFamily::kBert, BertHead::kPretraining},
      {BertFamily::kDistilBert, BertHead::kNone},
      {BertFamily::kDistilBert, BertHead::kClassification},
      {BertFamily::kDistilBert, BertHead::kMaskedLm}};
  for (const auto& [family, head] : cases) {
    const BertOptions options = tiny(family, head);
    write(options);
    const auto out = import_hugging_face(folder_.string());
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ(out->graph.content_hash(), make_bert(options).value().content_hash());
    EXPECT_TRUE(out->fresh.empty());
    EXPECT_TRUE(out->unused.empty());
  }
}

TEST_F(HuggingFace, PutsANewHeadOnAnEncoderAndSaysSo) {
  write(tiny(BertFamily::kBert, BertHead::kMaskedLm));
  HuggingFaceImport options;
  options.head = BertHead::kClassification;
  options.labels = {"a", "b", "c"};
  const auto out = import_hugging_face(folder_.string(), options);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ(out->fresh,
            (std::vector<std::string>{"bert.pooler.dense.weight", "bert.pooler.dense.bias",
                                      "classifier.weight", "classifier.bias"}));
  EXPECT_EQ(out->unused.size(), 5U); // transform, its normalization and the bias of the decoder
  options.head = BertHead::kNone;
  const auto bare = import_hugging_face(folder_.string(), options);
  EXPECT_TRUE(bare->fresh.empty()); // no pooler rather than a random one
  EXPECT_EQ(bare->graph.outputs().size(), 1U);
}

TEST_F(HuggingFace, ReadsOldNamesHalfPrecisionAndFilesInParts) {
  const BertOptions options = tiny(BertFamily::kBert, BertHead::kNone);
  write(options);
  std::vector<NamedWeight> first, second;
  for (NamedWeight w : weights()) {
    if (const size_t at = w.name.find("LayerNorm.weight"); at != std::string::npos)
      w.name.replace(at, std::string::npos, "LayerNorm.gamma");
    w.name = "bert." + w.name;
    const auto values = w.tensor.to_doubles().value();
    w.tensor = Tensor::from_doubles(DType::kBfloat16, w.tensor.shape(), values).value();
    (first.size() < 5 ? first : second).push_back(std::move(w));
  }
  ASSERT_TRUE(write_safetensors(at("one.safetensors"), first, Overwrite::kYes).ok());
  ASSERT_TRUE(write_safetensors(at("two.safetensors"), second, Overwrite::kYes).ok());
  fs::remove(at("model.safetensors"));
  std::ofstream(at("model.safetensors.index.json"))
      << R"({"weight_map": {"x": "one.safetensors", "y": "two.safetensors"}})";
  const auto out = import_hugging_face(folder_.string());
  ASSERT_TRUE(out.ok()) << out.error().text();
  const Graph want = make_bert(options).value();
  for (const ValueId id : want.constants()) {
    const Value& v = want.value(id);
    const Tensor* got = out->graph.constant(*out->graph.find_value(v.name));
    for (int64_t i = 0; i < v.constant.count() && is_float(v.constant.type()); ++i)
      ASSERT_NEAR(got->at(i), v.constant.at(i), std::abs(v.constant.at(i)) / 256) << v.name;
  }
  std::ofstream(at("model.safetensors.index.json"))
      << R"({"weight_map": {"x": "../one.safetensors"}})";
  EXPECT_NE(import_error().find("names no file of the same folder"), std::string::npos);
}

TEST_F(HuggingFace, RefusesWhatDoesNotBelongTogether) {
  write(tiny(BertFamily::kBert, BertHead::kNone));
  const std::string config = read_file(at("config.json"), 1 << 20).value();
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(at("config.json")) << text;
    return import_error();
  };
  EXPECT_EQ(edited("\"vocab_size\": 20", "\"vocab_size\": 21"),
            "parameter bert.embeddings.word_embeddings.weight: " + at("model.safetensors") +
                ": tensor \"embeddings.word_embeddings.weight\": is [20, 4], by config.json it is "
                "[21, 4]; the two files do not belong together");
  EXPECT_EQ(
      edited("\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2"),
      "parameter bert.encoder.layer.1.attention.self.query.weight: " + at("model.safetensors") +
          ": has no tensor \"encoder.layer.1.attention.self.query.weight\"; config.json asks "
          "for it");
  EXPECT_EQ(edited("\"bert\"", "\"gpt2\""),
            at("config.json") + ": \"model_type\" is \"gpt2\"; octet imports bert and distilbert");
  EXPECT_EQ(edited("\"hidden_size\": 4", "\"hidden_size\": \"4\""),
            at("config.json") + ": \"hidden_size\" is not a whole number; correct it");
  EXPECT_EQ(edited(config, "[]"),
            at("config.json") + ": is no JSON object; it is a model's config.json");
  EXPECT_EQ(edited(config, "{\n\"model_type\": \"bert\",\n}"),
            at("config.json") + ": not valid JSON at line 3, column 1");
  std::ofstream(at("config.json")) << config;
  fs::resize_file(at("model.safetensors"), fs::file_size(at("model.safetensors")) - 4);
  EXPECT_NE(import_error().find("cut short or damaged"), std::string::npos);
  fs::rename(at("model.safetensors"), at("pytorch_model.bin"));
  EXPECT_NE(import_error().find("convert it to model.safetensors"), std::string::npos);
}

TEST_F(HuggingFace, RefusesADecoderOfItsOwn) {
  BertOptions options = tiny(BertFamily::kBert, BertHead::kMaskedLm);
  write(options);
  std::vector<NamedWeight> all = weights();
  for (const NamedWeight& w : weights())
    if (w.name == "bert.embeddings.word_embeddings.weight")
      all.push_back({"cls.predictions.decoder.weight", w.tensor});
  ASSERT_TRUE(write_safetensors(at("model.safetensors"), all, Overwrite::kYes).ok());
  EXPECT_EQ(import_error(), "imported"); // the same weights once more
  all.back().tensor = Tensor::zeros(DType::kFloat32, {20, 4}).value();
  ASSERT_TRUE(write_safetensors(at("model.safetensors"), all, Overwrite::kYes).ok());
  EXPECT_NE(import_error().find("differs from the word embeddings"), std::string::npos);
}

TEST_F(HuggingFace, ExportsOnlyWhatItBuilt) {
  Graph graph;
  EXPECT_FALSE(export_hugging_face(graph, folder_.string(), false).ok());
  write(tiny(BertFamily::kBert, BertHead::kNone));
  EXPECT_FALSE(export_hugging_face(make_bert(tiny(BertFamily::kBert, BertHead::kNone)).value(),
                                   folder_.string(), false)
                   .ok());
}

} // namespace
} // namespace octet
