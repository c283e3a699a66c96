// SPDX-License-Identifier: Apache-2.0
// A new BERT learns to classify generated reviews, and takes the very steps that PyTorch takes.
#include <algorithm>

#include "training_support.h"
#include <gtest/gtest.h>

#include "octet/bert.h"
#include "octet/text_dataset.h"

namespace octet {
namespace {

/// Each review's last sentence: half of the time the verdict, else an opinion.
constexpr const char* kTexts = "reviews?last=1";

Tokenizer learn_vocabulary(const TextSource& texts) {
  constexpr int64_t kCount = 2000;
  WordPieceTrainOptions options;
  options.vocabulary_size = 1000;
  options.threads = 1;
  TextExample example;
  int64_t index = 0;
  const auto next = [&](std::string_view& text) {
    if (index == kCount) return false;
    example = texts.example(index++).value();
    text = example.text;
    return true;
  };
  return train_wordpiece(next, options).value();
}

struct ReviewProblem {
  std::shared_ptr<const Dataset> train, test;
  Graph model;
};

ReviewProblem tiny_bert_on_reviews() {
  const std::shared_ptr<const TextSource> texts = open_text(kTexts, Split::kTrain).value();
  const Tokenizer tokenizer = learn_vocabulary(*texts);
  TextDatasetOptions options;
  options.max_length = 64;
  options.pad_multiple = 8;
  options.cache_folder = "none";
  options.threads = 1;
  BertOptions bert = bert_size("tiny").value();
  bert.vocabulary = tokenizer.size();
  bert.dropout = bert.attention_dropout = 0;
  bert.head = BertHead::kClassification;
  bert.labels = texts->classes();
  return {make_text_dataset(texts, tokenizer, options).value(),
          open_text_dataset(kTexts, Split::kTest, tokenizer, options).value(),
          make_bert(bert).value()};
}

TrainOptions fine_tuning(int64_t steps) {
  TrainOptions options;
  options.optimizer.kind = OptimizerKind::kAdamW;
  options.optimizer.lr = 1e-3;
  options.max_steps = steps;
  options.batch_size = 32;
  options.threads = 1;
  return options;
}

TEST(BertLearning, TakesTheStepsOfTransformers) {
  // BertForSequenceClassification of transformers 5.23 with torch 2.15, the same weights (exported
  // by export_hugging_face) and the same batches, torch.optim.AdamW(lr=1e-3, weight_decay=0).
  constexpr double kLosses[] = {0.700380, 0.624207, 0.929414, 0.792226, 0.974346,
                                0.648111, 0.769492, 0.692360, 0.674665, 0.735151};
  const ReviewProblem problem = tiny_bert_on_reviews();
  TrainOptions options = fine_tuning(std::ssize(kLosses));
  options.schedule.kind = ScheduleKind::kConstant;
  std::vector<double> losses;
  options.on_scalar = [&](std::string_view tag, int64_t, double value) {
    if (tag == "train/step_loss") losses.push_back(value);
  };
  test::must_train(problem.model, *problem.train, options);
  ASSERT_EQ(losses.size(), std::size(kLosses));
  for (size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(losses[i], kLosses[i], 2e-5) << "step " << i + 1;
}

TEST(BertLearning, LearnsReviewsFromNothing) {
  const ReviewProblem problem = tiny_bert_on_reviews();
  const TrainedModel model =
      test::must_train(problem.model, *problem.train, fine_tuning(300), problem.test.get());
  // Guessing reaches 0.5 with a deviation of 0.008 on the 4,000 test reviews.
  EXPECT_GT(model.report.evaluations.back().accuracy, 0.65);
  EXPECT_LT(model.report.evaluations.back().loss, 0.55);
}

} // namespace
} // namespace octet
