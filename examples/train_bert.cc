// SPDX-License-Identifier: Apache-2.0
// From texts to an 8-bit classifier in C++: learns a vocabulary from generated film reviews, trains
// a small BERT, calibrates and quantizes it for TensorRT, and compares both models on test reviews.
// usage: octet_example_train_bert [STEPS]      1250 steps, which reach some 90 %; fewer end near chance
#include <cstdio>
#include <cstdlib>

#include "octet/bert.h"
#include "octet/classification.h"
#include "octet/model_folder.h"
#include "octet/quantize.h"
#include "octet/session.h"
#include "octet/text_dataset.h"
#include "octet/train.h"

namespace {

constexpr const char* kReviews = "reviews?last=3";

octet::Result<octet::Tokenizer> learn_vocabulary(const octet::TextSource& texts) {
  octet::WordPieceTrainOptions options;
  options.vocabulary_size = 1000;
  int64_t index = 0;
  std::string text;
  return octet::train_wordpiece(
      [&](std::string_view& next) {
        if (index == texts.size()) return false;
        const auto example = texts.example(index++);
        if (!example.ok()) return false;
        text = example->text;
        next = text;
        return true;
      },
      options);
}

octet::Result<octet::Classification> classify(const octet::Graph& model,
                                              const octet::Dataset& data) {
  const auto executor = OCTET_TRY(octet::make_native_executor(model));
  octet::ClassifyOptions options;
  options.limit = 1000;
  return octet::classify(model, *executor, data, options);
}

octet::Result<octet::PairedTest> train_quantize_compare(int64_t steps) {
  const auto texts = OCTET_TRY(octet::open_text(kReviews, octet::Split::kTrain));
  const octet::Tokenizer tokenizer = OCTET_TRY(learn_vocabulary(*texts));

  octet::TextDatasetOptions rows;
  rows.max_length = 64;
  rows.cache_folder = "none";
  const auto training = OCTET_TRY(octet::make_text_dataset(texts, tokenizer, rows));
  const auto test =
      OCTET_TRY(octet::open_text_dataset(kReviews, octet::Split::kTest, tokenizer, rows));

  octet::BertOptions shape = OCTET_TRY(octet::bert_size("tiny"));
  shape.vocabulary = tokenizer.size();
  shape.head = octet::BertHead::kClassification;
  shape.labels = training->classes();
  const octet::Graph fresh = OCTET_TRY(octet::make_bert(shape));

  octet::TrainOptions training_options;
  training_options.optimizer.kind = octet::OptimizerKind::kAdamW;
  training_options.epochs = 2;
  training_options.max_steps = steps;
  training_options.batch_size = 32;
  training_options.on_epoch = [](const octet::EpochRecord& epoch) {
    std::printf("loss %.4f after epoch %d\n", epoch.train_loss, static_cast<int>(epoch.epoch));
  };
  octet::TrainApi* trainer = OCTET_TRY(octet::train_api());
  const octet::TrainedModel model =
      OCTET_TRY(trainer->train(fresh, *training, nullptr, training_options));

  octet::QuantizeOptions quantization;
  quantization.target = "tensorrt-10";
  quantization.include = {"encoder.*"};
  quantization.mask_input = "attention_mask";
  quantization.samples = 64;
  const auto plan = OCTET_TRY(octet::plan_quantization(model.graph, *training, quantization));
  const octet::Graph int8 = OCTET_TRY(octet::quantize(model.graph, plan));

  const octet::Classification as_float = OCTET_TRY(classify(model.graph, *test));
  const octet::Classification as_int8 = OCTET_TRY(classify(int8, *test));
  std::printf("%.2f %% right in float, %.2f %% in 8 bits, of %zu reviews\n",
              100 * as_float.accuracy(), 100 * as_int8.accuracy(), as_int8.labels.size());

  octet::ModelFolderWriter folder =
      OCTET_TRY(octet::ModelFolderWriter::create("reviews-int8", true));
  OCTET_TRY(folder.add_model(int8));
  OCTET_TRY(tokenizer.save(folder.path()));
  OCTET_TRY(folder.commit());
  return octet::mcnemar(as_float.labels, as_float.predictions, as_int8.predictions);
}

} // namespace

int main(int argc, char** argv) {
  const int64_t steps = argc > 1 ? std::atoll(argv[1]) : 1250;
  const octet::Result<octet::PairedTest> test = train_quantize_compare(steps);
  if (!test.ok()) {
    std::fprintf(stderr, "%s\n", test.error().text().c_str());
    return 1;
  }
  std::printf(
      "%lld right in float alone, %lld in 8 bits alone; such a difference by chance: %.2f\n",
      static_cast<long long>(test->only_first), static_cast<long long>(test->only_second),
      test->p_value);
  return test->p_value > 0.001 ? 0 : 1;
}
