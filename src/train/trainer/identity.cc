// SPDX-License-Identifier: Apache-2.0
#include "train/trainer/identity.h"

#include <algorithm>
#include <functional>
#include <initializer_list>

#include "core/format.h"
#include "core/string_util.h"
#include "data/dataset_hash.h"

namespace octet::train {
namespace {

// What the other settings may change too, so that it is named only where they are the same.
constexpr const char *kData = "training data", *kValidation = "validation data",
                     *kContent = "content", *kGraph = "graph";

const std::string* value_of(const std::vector<RunSetting>& list, const std::string& name) {
  const auto at =
      std::find_if(list.begin(), list.end(), [&](const RunSetting& s) { return s.name == name; });
  return at == list.end() ? nullptr : &at->value;
}

struct Difference {
  std::string name, ours, theirs;
};

std::string shown(const std::string* value) {
  return value == nullptr || value->empty() ? "none" : *value;
}

/// Every setting that only one list has, or both with other values.
std::vector<Difference> differences(const std::vector<RunSetting>& ours,
                                    const std::vector<RunSetting>& theirs) {
  std::vector<Difference> out;
  const auto add = [&](const std::string& name) {
    const std::string *a = value_of(ours, name), *b = value_of(theirs, name);
    if (a == nullptr || b == nullptr || *a != *b) out.push_back({name, shown(a), shown(b)});
  };
  for (const RunSetting& s : ours)
    add(s.name);
  for (const RunSetting& s : theirs)
    if (value_of(ours, s.name) == nullptr) add(s.name);
  return out;
}

bool is_consequence(const Difference& d) {
  return d.name == kData || d.name == kValidation || d.name == kContent || d.name == kGraph;
}

std::string what_differs(const Difference& first) {
  if (first.name == kGraph)
    return "the model that it starts from is another one than the checkpoint's (another seed, "
           "size, vocabulary or start model)";
  if (first.name == kContent)
    return "the training data have another content than the checkpoint's (other texts, labels, "
           "vocabulary, length or masks)";
  return fmt::format("this run has {0} {1}, the checkpoint {0} {2}", first.name, first.ours,
                     first.theirs);
}

/// Collects settings.
class Facts {
 public:
  explicit Facts(std::vector<RunSetting>& list) : list_(list) {}

  template <class T>
  void say(std::string name, const T& value) {
    list_.push_back({std::move(name), fmt::format("{}", value)});
  }
  void say(std::string name, const std::vector<std::string>& values) {
    say(std::move(name), join(values, ", "));
  }
  /// An enumerator by its name.
  template <class Kind>
  void say(std::string name, Kind kind, std::initializer_list<const char*> names) {
    say(std::move(name), names.begin()[static_cast<size_t>(kind)]);
  }

 private:
  std::vector<RunSetting>& list_;
};

void say_course(const TrainOptions& o, Facts& facts) {
  facts.say("epochs", o.epochs);
  facts.say("step limit", o.max_steps);
  facts.say("batch size", o.batch_size);
  facts.say("batches of a step", o.accumulate);
  facts.say("last step left out", o.drop_last);
  facts.say("lengths together", o.bucket_lengths);
  facts.say("seed", o.seed);
  facts.say("processes", o.world.size);
  facts.say("precision", o.precision, {"f32", "bf16", "f16", "fp8"});
  if (o.precision == Precision::kFloat8) {
    facts.say("FP8 scaling", o.fp8.scaling, {"delayed", "current"});
    facts.say("FP8 history", o.fp8.history);
    facts.say("FP8 margin", o.fp8.margin);
    facts.say("FP8 amax", o.fp8.amax, {"max", "most-recent"});
  }
  facts.say("trained constants", o.train);
  facts.say("frozen constants", o.freeze);
  facts.say("weight scales", o.weight_scales, {"follow", "fixed", "learned"});
  facts.say("activation scales", o.activation_scales, {"fixed", "learned", "clipped"});
  facts.say("start of scales", o.scale_start, {"observed", "published"});
  facts.say("share before scales freeze", o.freeze_scales_after);
  facts.say("statistics frozen", o.freeze_statistics);
  facts.say("share before statistics freeze", o.freeze_statistics_after);
  facts.say("validation split", o.validation_split);
  facts.say("steps between evaluations", o.evaluate_steps);
  facts.say("patience", o.patience);
  facts.say("best kept", o.keep_best);
}

void say_optimizer(const OptimizerOptions& o, Facts& facts) {
  facts.say("optimizer", o.kind, {"sgd", "adam", "adamw"});
  facts.say("learning rate", o.lr);
  facts.say("momentum", o.momentum);
  facts.say("beta1", o.beta1);
  facts.say("beta2", o.beta2);
  facts.say("epsilon", o.epsilon);
  facts.say("weight decay", o.weight_decay);
  facts.say("decay of all", o.decay_all);
  facts.say("constants without decay", o.no_decay);
  facts.say("decay of clips", o.clip_decay);
  facts.say("clipping norm", o.clip_norm);
}

void say_schedule(const ScheduleOptions& o, Facts& facts) {
  facts.say("schedule", o.kind, {"constant", "one-cycle", "cosine", "linear"});
  facts.say("warm fraction", o.warm_fraction);
  facts.say("first rate divided by", o.div_factor);
  facts.say("last rate divided by", o.final_div_factor);
  facts.say("momentum in cycles", o.cycle_momentum);
  facts.say("base momentum", o.base_momentum);
  facts.say("highest momentum", o.max_momentum);
  facts.say("warm-up steps", o.warmup_steps);
  facts.say("warm-up", o.warmup_fraction);
  facts.say("final rate", o.final_lr);
}

void say_losses(const TrainOptions& o, Facts& facts) {
  const std::initializer_list<const char*> kinds = {"auto", "cross-entropy", "mean square",
                                                    "binary cross-entropy"};
  facts.say("loss", o.loss, kinds);
  facts.say("label smoothing", o.label_smoothing);
  for (size_t i = 0; i < o.losses.size(); ++i) {
    const LossTerm& t = o.losses[i];
    const std::string name = fmt::format("loss {}", i + 1);
    facts.say(name, fmt::format("of {} and {}", t.output, t.target));
    facts.say("kind of " + name, t.kind, kinds);
    facts.say("weight of " + name, t.weight);
    facts.say("ignored label of " + name, t.ignore_index);
  }
  if (o.teacher.graph == nullptr) return;
  facts.say("teacher", fmt::format("{:016x}", o.teacher.graph->content_hash()));
  facts.say("teacher's temperature", o.teacher.temperature);
  facts.say("teacher's weight", o.teacher.weight);
  facts.say("teacher's hidden weight", o.teacher.hidden_weight);
  facts.say("teacher's hidden values", o.teacher.hidden);
}

std::string way_back(const Difference& first) {
  if (first.name == kGraph) return "the old one";
  return is_consequence(first) ? "the old ones" : first.theirs;
}

} // namespace

std::string RunIdentity::text() const {
  std::string out;
  for (const RunSetting& s : decides)
    out += s.name + " " + s.value + "\n";
  return out;
}

std::string difference(const RunIdentity& ours, const RunIdentity& theirs) {
  std::vector<Difference> decisive = differences(ours.decides, theirs.decides);
  if (decisive.empty()) return {};
  const auto consequences =
      std::stable_partition(decisive.begin(), decisive.end(), std::not_fn(is_consequence));
  const std::vector<Difference> reasons = differences(ours.explains, theirs.explains);
  std::vector<Difference> all(decisive.begin(), consequences);
  all.insert(all.end(), reasons.begin(), reasons.end());
  if (all.empty()) all.push_back(*consequences);
  const Difference& first = all.front();
  std::vector<std::string> others;
  for (size_t i = 1; i < all.size(); ++i)
    others.push_back(all[i].name);
  return fmt::format("{}{}: take {} to go on, --force instead of --resume to start over, or "
                     "another output",
                     what_differs(first),
                     others.empty() ? "" : fmt::format(" (and another {})", join(others, ", ")),
                     way_back(first));
}

RunIdentity run_identity(const Graph& graph,
                         const Dataset& examples,
                         const Dataset* validation,
                         const TrainOptions& o,
                         int threads) {
  RunIdentity out;
  Facts facts(out.decides);
  say_course(o, facts);
  say_optimizer(o.optimizer, facts);
  say_schedule(o.schedule, facts);
  say_losses(o, facts);
  facts.say("threads", threads);
  facts.say(kData, fmt::format("{} ({} examples)", examples.description(), examples.size()));
  facts.say(kValidation,
            validation == nullptr
                ? "none"
                : fmt::format("{} ({} examples)", validation->description(), validation->size()));
  // Read twice, so only where somebody compares it: a later run, or other processes.
  if (!o.checkpoint.empty() || o.world.size > 1) {
    out.data_hash = dataset_hash(examples);
    facts.say(kContent, fmt::format("{:016x}", out.data_hash));
  }
  facts.say(kGraph, fmt::format("{:016x}", graph.content_hash()));
  out.explains = o.settings;
  return out;
}

} // namespace octet::train
