// SPDX-License-Identifier: Apache-2.0
// Diagnosis of a training run from its history.
#include "train/trainer/diagnosis.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/string_util.h"

namespace octet::train {
namespace {

constexpr size_t kPatience = 3; ///< epochs in a row
constexpr double kFarAbove = 4; ///< times where a loss began
constexpr size_t kRecentSteps = 8;
constexpr double kClearOfNoise = 3; ///< times the spread of the last losses
constexpr int64_t kFewSteps = 200;  ///< within which a loss may well stay where it is

/// What was seen that explains a loss that stays; empty: nothing.
std::string signs(const StallSigns& stall) {
  std::vector<std::string> seen;
  if (!stall.dead.empty())
    seen.push_back(fmt::format("{} gives 0 for every example, so nothing is learned before it: "
                               "start with another --seed, a lower --lr, or inputs scaled to "
                               "about -1 .. 1",
                               join_some(stall.dead, 3)));
  if (stall.trained_share < 0.05)
    seen.push_back(fmt::format("only {:.2g} % of the parameters are trained (--freeze)",
                               100 * stall.trained_share));
  if (stall.reach > 0 && stall.reach < 0.01)
    seen.push_back(fmt::format("so many steps at this rate move weights by {:.2g} % of their size "
                               "at most: a higher --lr",
                               100 * stall.reach));
  return seen.empty() ? std::string() : fmt::format("{}; other ", join(seen, "; "));
}

/// Still at the loss of guessing after an epoch.
std::optional<std::string> at_chance(const EpochRecord& last, const RunFacts& run) {
  if (!run.stalled(last)) return std::nullopt;
  return fmt::format(
      "the training loss is {:.4f} after epoch {}, and guessing gives {:.4f}: nothing is learned; "
      "{}usual causes: a learning rate that is far too high or too low, {}labels that do not "
      "belong "
      "to the inputs, frozen parameters, too few steps for a model that starts from nothing (the "
      "highest learning rate is {})",
      last.train_loss, last.epoch, run.guessing(), signs(run.stall),
      run.float_inputs ? "inputs that are not scaled to about -1 .. 1, " : "", run.max_lr);
}

/// Numbers to learn that lie where the outputs of no usual initialization are.
std::optional<std::string> far_labels(std::span<const EpochRecord> history, const RunFacts& run) {
  constexpr double kMuchWorse = 2, kOrdinary = 5; // times the loss of guessing; size of a label
  const double size = std::max(std::abs(run.label_mean), run.label_deviation);
  if (history.size() != 1 || run.label_deviation <= 0 || size < kOrdinary ||
      history[0].train_loss < kMuchWorse * run.guessing())
    return std::nullopt;
  return fmt::format(
      "the labels lie around {:.4g} (deviation {:.4g}), and the outputs are still far from there: "
      "the loss is {:.4g}, and that of always saying the mean {:.4g}. At the learning rate {} "
      "weights take long to reach such numbers; learn (label - {:.4g}) / {:.4g} instead, or try a "
      "rate ten to a hundred times as high",
      run.label_mean, run.label_deviation, history[0].train_loss, run.guessing(), run.max_lr,
      run.label_mean, run.label_deviation);
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

/// The training examples are known by heart, and others are guessed.
std::optional<std::string> by_heart(std::span<const EpochRecord> history, const RunFacts& run) {
  if (run.classes < 2 || history.size() < kPatience) return std::nullopt;
  const EpochRecord& last = history.back();
  const double chance = 1 / static_cast<double>(run.classes);
  if (last.train_accuracy < 0.9 || last.validation_accuracy <= 0 ||
      last.validation_accuracy > chance + 0.05)
    return std::nullopt;
  return fmt::format(
      "{:.1f} % of the training examples are right and {:.1f} % of others, and guessing gives "
      "{:.1f} %: what is learned says nothing of other examples; usual causes: labels in another "
      "order than the inputs, or of other data (octet data show prints examples with their "
      "labels), "
      "a test part that is prepared in another way",
      100 * last.train_accuracy, 100 * last.validation_accuracy, 100 * chance);
}

/// How far apart the middle half of some losses lies: batches differ (short texts are easier), and
/// the lowest of many steps is a lucky one.
double spread(std::vector<double> losses) {
  std::sort(losses.begin(), losses.end());
  return losses[losses.size() * 3 / 4] - losses[losses.size() / 4];
}

} // namespace

double RunFacts::guessing() const {
  if (chance > 0) return chance;
  return classes < 2 ? 0 : std::log(static_cast<double>(classes));
}

bool RunFacts::stalled(const EpochRecord& last) const {
  return steps >= kFewSteps && guessing() > 0 && last.train_loss >= 0.98 * guessing();
}

std::optional<TrainFinding> gets_worse(std::span<const EvaluationRecord> evaluations,
                                       const RunFacts& run) {
  constexpr size_t kBehindTheBest = 2;
  constexpr int64_t kFewEpochs = 3; // behind them `overfitting` looks at epochs
  if (evaluations.size() <= kBehindTheBest || evaluations.back().epoch > kFewEpochs)
    return std::nullopt;
  const auto best = std::min_element(evaluations.begin(), evaluations.end(),
                                     [](const auto& a, const auto& b) { return a.loss < b.loss; });
  const EvaluationRecord& last = evaluations.back();
  if (evaluations.end() - best <= static_cast<std::ptrdiff_t>(kBehindTheBest)) return std::nullopt;
  const bool all_above = std::all_of(evaluations.end() - kBehindTheBest, evaluations.end(),
                                     [&](const auto& e) { return e.loss > 1.05 * best->loss; });
  const bool less_right = last.accuracy < best->accuracy ||
                          (!last.terms.empty() && last.terms[0].metric != TermMetric::kAccuracy);
  if (!all_above || !less_right) return std::nullopt;
  return TrainFinding{
      TrainFinding::Kind::kWorse, last.epoch,
      fmt::format(
          "the validation loss was {:.4f} at step {} (epoch {}) and is {:.4f} at step {}: "
          "the model gets worse; usual causes: a learning rate that is too high for weights "
          "that know something already (it is {}: try --lr {:.2g}), more epochs than the "
          "data bear (--epochs 1, --freeze for all but the last layers); {}",
          best->loss, best->step, best->epoch, last.loss, last.step, run.max_lr, run.max_lr / 5,
          run.keeps_best ? "the best model is kept"
                         : "--validation-split 0.1 keeps the best model")};
}

std::optional<TrainFinding> jumps(const std::vector<double>& recent,
                                  const LowestLoss& lowest,
                                  double first,
                                  int64_t epoch,
                                  int64_t step,
                                  const RunFacts& run) {
  if (recent.size() < kRecentSteps || lowest.step == 0) return std::nullopt;
  const double now = typical_loss(recent);
  const double scale = std::max({first, run.guessing(), run.ignorance});
  const bool jumped = now > 2 * lowest.loss && now > 0.5 * scale &&
                      now - lowest.loss > kClearOfNoise * spread(recent);
  const bool rose = now > 1.5 * scale;
  if (!jumped && !rose) return std::nullopt;
  const std::string seen =
      jumped ? fmt::format("the training loss was {:.4g} at step {} and is {:.4g} at step {}",
                           lowest.loss, lowest.step, now, step)
             : fmt::format("the training loss began at {:.4g} and is {:.4g} at step {}", first, now,
                           step);
  return TrainFinding{
      TrainFinding::Kind::kRateTooHigh, epoch,
      fmt::format("{}: the learning rate is too high for this model (the highest is {}: try --lr "
                  "{:.2g}, --warmup 0.1 with --schedule linear, or --clip-norm 1){}",
                  seen, run.max_lr, run.max_lr / 5,
                  run.float_inputs ? ", or inputs are not scaled to about -1 .. 1" : "")};
}

std::vector<TrainFinding> diagnose(std::span<const EpochRecord> history, const RunFacts& run) {
  std::vector<TrainFinding> found;
  if (history.empty()) return found;
  const EpochRecord& last = history.back();
  const auto add = [&](TrainFinding::Kind kind, const std::optional<std::string>& message) {
    if (message) found.push_back({kind, last.epoch, *message});
  };
  if (const std::optional<std::string> far = far_labels(history, run)) {
    add(TrainFinding::Kind::kStalled, far);
  } else if (run.steps >= kFewSteps) {
    const std::optional<std::string> stuck = at_chance(last, run);
    add(TrainFinding::Kind::kStalled, stuck ? stuck : plateau(history));
  }
  if (last.validation_loss > 0)
    add(TrainFinding::Kind::kOverfitting, overfitting(history, run.keeps_best));
  if (last.validation_loss > 0) add(TrainFinding::Kind::kLabels, by_heart(history, run));
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
