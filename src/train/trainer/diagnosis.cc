// SPDX-License-Identifier: Apache-2.0
// Diagnosis of a training run from its history.
#include "train/trainer/diagnosis.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace octet::train {
namespace {

constexpr size_t kPatience = 3; ///< epochs in a row
constexpr double kFarAbove = 4; ///< times where a loss began
constexpr size_t kRecentSteps = 8;
constexpr int64_t kFewSteps = 200; ///< within which a loss may well stay where it is

/// Still at the loss of guessing after an epoch.
std::optional<std::string> at_chance(const EpochRecord& last, const RunFacts& run) {
  if (run.classes < 2) return std::nullopt;
  const double chance = std::log(static_cast<double>(run.classes));
  if (last.train_loss < 0.98 * chance) return std::nullopt;
  return fmt::format(
      "the training loss is {:.4f} after epoch {}, and guessing gives {:.4f}: nothing is learned; "
      "usual causes: a learning rate that is far too high or too low, {}labels that do not belong "
      "to the inputs, frozen parameters, too few steps for a model that starts from nothing (the "
      "highest learning rate is {})",
      last.train_loss, last.epoch, chance,
      run.float_inputs ? "inputs that are not scaled to about -1 .. 1, " : "", run.max_lr);
}

std::optional<std::string> plateau(std::span<const EpochRecord> history) {
  if (history.size() <= kPatience) return std::nullopt;
  const double now = history.back().train_loss;
  const auto before = history.first(history.size() - kPatience);
  const double best =
      std::min_element(before.begin(), before.end(), [](const auto& a, const auto& b) {
        return a.train_loss < b.train_loss;
      })->train_loss;
  double recent = now;
  for (const EpochRecord& r : history.last(kPatience))
    recent = std::min(recent, r.train_loss);
  if (recent < best * 0.999 || history.back().train_accuracy > 0.99) return std::nullopt;
  return fmt::format("the training loss has not gone down for {} epochs ({:.4f}, before that "
                     "{:.4f}); usual causes: "
                     "a learning rate that is too high for this stage, a model that is too small, "
                     "too much dropout",
                     kPatience, recent, best);
}

std::optional<std::string> overfitting(std::span<const EpochRecord> history, bool keeps_best) {
  if (history.size() <= kPatience) return std::nullopt;
  const auto last = history.last(kPatience + 1);
  for (size_t i = 1; i < last.size(); ++i)
    if (last[i].validation_loss <= last[i - 1].validation_loss ||
        last[i].train_loss >= last[i - 1].train_loss)
      return std::nullopt;
  return fmt::format(
      "the validation loss has risen for {} epochs ({:.4f} to {:.4f}) while the training loss "
      "fell: "
      "the model overfits; usual remedies: fewer epochs ({}), more dropout or weight decay, more "
      "data",
      kPatience, last.front().validation_loss, last.back().validation_loss,
      keeps_best ? "the best model is kept" : "a held-out part lets the best model be kept");
}

} // namespace

std::vector<TrainFinding> diagnose(std::span<const EpochRecord> history, const RunFacts& run) {
  std::vector<TrainFinding> found;
  if (history.empty()) return found;
  const EpochRecord& last = history.back();
  const auto add = [&](TrainFinding::Kind kind, const std::optional<std::string>& message) {
    if (message) found.push_back({kind, last.epoch, *message});
  };
  if (run.steps >= kFewSteps) {
    const std::optional<std::string> stuck = at_chance(last, run);
    add(TrainFinding::Kind::kStalled, stuck ? stuck : plateau(history));
  }
  if (last.validation_loss > 0)
    add(TrainFinding::Kind::kOverfitting, overfitting(history, run.keeps_best));
  return found;
}

double LossCourse::limit() const {
  return kFarAbove * std::max(first, guessing);
}

bool LossCourse::diverged() const {
  const bool forgot = first < 0.5 * guessing && now >= 0.95 * guessing;
  return forgot || !(now <= limit());
}

void remember_loss(std::vector<double>& recent, double loss) {
  recent.push_back(loss);
  if (recent.size() > kRecentSteps) recent.erase(recent.begin());
}

double typical_loss(std::vector<double> recent) {
  if (recent.empty()) return 0;
  const auto middle = recent.begin() + static_cast<std::ptrdiff_t>(recent.size() / 2);
  std::nth_element(recent.begin(), middle, recent.end());
  return *middle;
}

TrainFinding
diverged(int64_t epoch, int64_t step, const LossCourse& course, double max_lr, bool float_inputs) {
  return {TrainFinding::Kind::kDiverged, epoch,
          fmt::format("training diverged: the loss is {:.4g} at step {}, it began at {:.4g}, and "
                      "guessing gives {:.4g}; usual causes: a learning rate that is too high (it "
                      "is {}: try a tenth of it, or --clip-norm 1){}",
                      course.now, step, course.first, course.guessing, max_lr,
                      float_inputs ? ", inputs that are not scaled to about -1 .. 1" : "")};
}

TrainFinding not_finite(int64_t epoch, int64_t step, double loss, double lr, bool float_inputs) {
  return {TrainFinding::Kind::kNotFinite, epoch,
          fmt::format("the loss is {} at step {} (epoch {}, learning rate {:.3g}); usual causes: a "
                      "learning rate that is too high (try a third of it, or --clip-norm 1), {}a "
                      "scale of 0 in the graph",
                      loss, step, epoch, lr,
                      float_inputs
                          ? "inputs that are not scaled to about -1 .. 1 or that hold nan, "
                          : "")};
}

} // namespace octet::train
