// SPDX-License-Identifier: Apache-2.0
// A run that was stopped or killed and then resumed ends with the bytes of one that was not.
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/atomic_file.h"
#include "core/progress.h"
#include "support/paths.h"
#include "train/trainer/trainer.h"
#include "training_support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using test::Sectors;

std::string fresh_path(const char* name) {
  const std::filesystem::path folder = std::filesystem::path(test::build_dir()) / "test_resume";
  std::filesystem::create_directories(folder);
  std::filesystem::remove(folder / name);
  return folder / name;
}

TrainOptions options_with(const std::string& checkpoint) {
  TrainOptions o = test::small_options();
  o.checkpoint = checkpoint;
  o.checkpoint_steps = 3;
  o.resume = true;
  o.validation_split = 0.2;
  return o;
}

uint64_t train_hash(const TrainOptions& options, bool* cancelled = nullptr) {
  const Sectors data(200);
  Result<TrainedModel> model = train::train_graph(test::small_network(), data, nullptr, options);
  EXPECT_TRUE(model.ok()) << model.error().text();
  if (cancelled != nullptr) *cancelled = model->report.cancelled;
  return model->graph.content_hash();
}

TEST(Resume, AfterStoppingAtEveryStepOfAnEpochGivesTheSameModel) {
  const uint64_t undisturbed = train_hash(options_with(fresh_path("undisturbed")));
  for (int64_t stop = 8; stop <= 21; ++stop) {
    CancelToken token;
    TrainOptions options = options_with(fresh_path("stopped"));
    options.cancel = &token;
    options.on_step = [&](const TrainProgress& p) {
      if (p.step == stop) token.cancel();
    };
    bool cancelled = false;
    train_hash(options, &cancelled);
    EXPECT_TRUE(cancelled);
    options.cancel = nullptr;
    EXPECT_EQ(train_hash(options), undisturbed) << "stopped after step " << stop;
  }
}

/// The histories of FP8 scales are part of what goes on.
TEST(Resume, InFp8GivesTheSameModel) {
  for (const Fp8Scaling scaling : {Fp8Scaling::kDelayed, Fp8Scaling::kCurrent}) {
    const auto options_of = [&](const char* file) {
      TrainOptions options = options_with(fresh_path(file));
      options.precision = Precision::kFloat8;
      options.fp8 = {.scaling = scaling, .history = 5};
      return options;
    };
    const uint64_t undisturbed = train_hash(options_of("undisturbed_fp8"));
    for (const int64_t stop : {1, 4, 9, 10, 16, 21}) {
      CancelToken token;
      TrainOptions options = options_of("stopped_fp8");
      options.cancel = &token;
      options.on_step = [&](const TrainProgress& p) {
        if (p.step == stop) token.cancel();
      };
      bool cancelled = false;
      train_hash(options, &cancelled);
      EXPECT_TRUE(cancelled);
      options.cancel = nullptr;
      EXPECT_EQ(train_hash(options), undisturbed) << "stopped after step " << stop;
    }
  }
}

void train_and_die(const std::string& checkpoint, int64_t at_step) {
  TrainOptions options = options_with(checkpoint);
  options.on_step = [at_step](const TrainProgress& p) {
    if (p.step == at_step) std::raise(SIGKILL);
  };
  train_hash(options);
}

TEST(ResumeDeathTest, AfterKillingGivesTheSameModel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const uint64_t undisturbed = train_hash(options_with(fresh_path("undisturbed2")));
  for (const int64_t step : {1, 4, 11, 17}) {
    const std::string path = fresh_path("killed");
    EXPECT_EXIT(train_and_die(path, step), testing::KilledBySignal(SIGKILL), "");
    EXPECT_EQ(train_hash(options_with(path)), undisturbed) << "killed after step " << step;
  }
}

TEST(Resume, OfAFinishedRunReturnsItsModelAtOnce) {
  const TrainOptions options = options_with(fresh_path("finished"));
  const uint64_t hash = train_hash(options);
  TrainOptions again = options;
  again.on_step = [](const TrainProgress&) { FAIL() << "no step is left"; };
  EXPECT_EQ(train_hash(again), hash);
}

TEST(Resume, RefusesACheckpointOfAnotherRunAndADamagedOne) {
  TrainOptions options = options_with(fresh_path("other"));
  train_hash(options);
  const Sectors data(200);
  const std::string ways =
      " to go on, --force instead of --resume to start over, or another output";
  const auto refusal = [&](const Dataset& examples, const TrainOptions& other) {
    const auto model = train::train_graph(test::small_network(), examples, nullptr, other);
    return model.ok() ? "resumed" : model.error().text();
  };
  const std::string place = "train: checkpoint " + options.checkpoint + ": ";
  TrainOptions other = options;
  other.batch_size = 8;
  EXPECT_EQ(refusal(data, other),
            place + "this run has batch size 8, the checkpoint batch size 16: take 16" + ways);
  other.optimizer.kind = OptimizerKind::kAdamW;
  other.seed = 7;
  EXPECT_EQ(refusal(data, other),
            place +
                "this run has batch size 8, the checkpoint batch size 16 (and another seed, "
                "optimizer): take 16" +
                ways);
  other = options;
  other.precision = Precision::kFloat8;
  EXPECT_NE(refusal(data, other).find("this run has precision fp8, the checkpoint precision f32"),
            std::string::npos);
  const Sectors same_name(200, 2); // other points under the same description
  EXPECT_EQ(refusal(same_name, options),
            place +
                "the training data have another content than the checkpoint's (other texts, "
                "labels, vocabulary, length or masks): take the old ones" +
                ways);
  other = options;
  other.settings = {{"mask rate", "0.2"}}; // of which the other points may come
  EXPECT_EQ(refusal(same_name, other),
            place + "this run has mask rate 0.2, the checkpoint mask rate none: take none" + ways);
  EXPECT_EQ(refusal(data, other), "resumed"); // alone it changes nothing
  std::string content = read_file(options.checkpoint, size_t{1} << 30).value();
  const std::string whole = content;
  content.replace(content.find("octet-checkpoint-5"), 18, "octet-checkpoint-3");
  std::ofstream(options.checkpoint, std::ios::binary) << content;
  EXPECT_EQ(refusal(data, options),
            place + "another version of octet wrote it (octet-checkpoint-3, this one writes "
                    "octet-checkpoint-5): go on with that version, or start over with --force "
                    "instead of --resume");
  std::ofstream(options.checkpoint, std::ios::binary) << whole;
  const auto size = std::filesystem::file_size(options.checkpoint);
  for (const uintmax_t position : {uintmax_t{3}, uintmax_t{200}, size - 2}) {
    std::fstream file(options.checkpoint, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(position));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(position));
    file.put(static_cast<char>(byte ^ 0x41));
    file.close();
    EXPECT_FALSE(train::train_graph(test::small_network(), data, nullptr, options).ok())
        << position;
    std::filesystem::resize_file(options.checkpoint, size);
  }
  std::filesystem::resize_file(options.checkpoint, size / 2);
  EXPECT_FALSE(train::train_graph(test::small_network(), data, nullptr, options).ok());
}

} // namespace
} // namespace octet
