// SPDX-License-Identifier: Apache-2.0
// Checks of the training options, and the text that tells runs apart.
#include <cmath>

#include "core/format.h"
#include "train/trainer/dataset_hash.h"
#include "train/trainer/trainer.h"

namespace octet::train {
namespace {

Status check_range(const char* what, double value, double low, double high) {
  if (value >= low && value <= high) return ok_status();
  return error("train: {} is {}; it lies in {} .. {}", what, value, low, high);
}

} // namespace

Status check_options(const TrainOptions& o) {
  OCTET_TRY(check_range("epochs", static_cast<double>(o.epochs), 1, 1e6));
  OCTET_TRY(check_range("the batch size", static_cast<double>(o.batch_size), 1, 1e6));
  OCTET_TRY(check_range("the learning rate", o.optimizer.lr, 1e-12, 1e3));
  OCTET_TRY(check_range("momentum", o.optimizer.momentum, 0, 1));
  OCTET_TRY(check_range("beta1", o.optimizer.beta1, 0, 1));
  OCTET_TRY(check_range("beta2", o.optimizer.beta2, 0, 1));
  OCTET_TRY(check_range("weight decay", o.optimizer.weight_decay, 0, 1e3));
  OCTET_TRY(check_range("the clipping norm", o.optimizer.clip_norm, 0, 1e30));
  OCTET_TRY(check_range("label smoothing", o.label_smoothing, 0, 1));
  OCTET_TRY(check_range("the validation split", o.validation_split, 0, 0.9));
  OCTET_TRY(check_range("the warm fraction", o.schedule.warm_fraction, 0, 1));
  OCTET_TRY(check_range("threads", o.threads, 0, 4096));
  OCTET_TRY(check_range("the warm-up fraction", o.schedule.warmup_fraction, 0, 1));
  OCTET_TRY(check_range("accumulate", static_cast<double>(o.accumulate), 1, 1e6));
  OCTET_TRY(check_range("max steps", static_cast<double>(o.max_steps), 0, 1e12));
  OCTET_TRY(check_range("patience", static_cast<double>(o.patience), 0, 1e6));
  OCTET_TRY(check_range("the teacher's weight", o.teacher.weight, 0, 1));
  OCTET_TRY(check_range("the teacher's temperature", o.teacher.temperature, 1e-3, 1e3));
  OCTET_TRY(check_range("the weight of hidden values", o.teacher.hidden_weight, 0, 1e6));
  OCTET_TRY(check_range("the number of processes", o.world.size, 1, 1 << 16));
  OCTET_TRY(check_range("the rank", o.world.rank, 0, o.world.size - 1));
  if (o.precision == Precision::kFloat16 && o.device == Device::kCpu)
    return error(ErrorCode::kUnsupported,
                 "train: f16 needs a CUDA device; on the CPU use f32 or bf16");
  if (o.resume && o.checkpoint.empty())
    return error("train: resuming needs the path of a checkpoint");
  return ok_status();
}

std::string run_identity(const Graph& graph,
                         const Dataset& examples,
                         const Dataset* validation,
                         const TrainOptions& o,
                         int threads) {
  const auto join = [](const std::vector<std::string>& list) {
    std::string out;
    for (const std::string& s : list)
      out += s + ",";
    return out;
  };
  std::string text;
  const auto line = [&text]<class... A>(fmt::format_string<A...> format, A&&... a) {
    text += fmt::format(format, std::forward<A>(a)...) + "\n";
  };
  line("graph {:016x}", graph.content_hash());
  line("data {} ({} examples)", examples.description(), examples.size());
  // Read twice, so only where somebody compares it: a later run, or other processes.
  if (!o.checkpoint.empty() || o.world.size > 1) line("content {:016x}", dataset_hash(examples));
  line("validation {} ({} examples), split {}",
       validation == nullptr ? "none" : validation->description(),
       validation == nullptr ? 0 : validation->size(), o.validation_split);
  line("epochs {}", o.epochs);
  line("batch size {}, drop last {}", o.batch_size, o.drop_last);
  line("seed {}", o.seed);
  line("optimizer {} lr {} momentum {} betas {} {} epsilon {} decay {} clip {}",
       static_cast<int>(o.optimizer.kind), o.optimizer.lr, o.optimizer.momentum, o.optimizer.beta1,
       o.optimizer.beta2, o.optimizer.epsilon, o.optimizer.weight_decay, o.optimizer.clip_norm);
  line("schedule {} warm {} divided by {} and {}, momentum {} {} {}, warm-up {}, final {}",
       static_cast<int>(o.schedule.kind), o.schedule.warm_fraction, o.schedule.div_factor,
       o.schedule.final_div_factor, o.schedule.cycle_momentum, o.schedule.base_momentum,
       o.schedule.max_momentum, o.schedule.warmup_steps, o.schedule.final_lr);
  line("warm-up fraction {}", o.schedule.warmup_fraction);
  line("decay of all {}, none for {}", o.optimizer.decay_all, join(o.optimizer.no_decay));
  line("loss {} smoothing {}", static_cast<int>(o.loss), o.label_smoothing);
  for (const LossTerm& t : o.losses)
    line("loss term {} target {} kind {} weight {} ignoring {}", t.output, t.target,
         static_cast<int>(t.kind), t.weight, t.ignore_index);
  if (o.teacher.graph != nullptr)
    line("teacher {:016x} temperature {} weight {} hidden {} of {}",
         o.teacher.graph->content_hash(), o.teacher.temperature, o.teacher.weight,
         o.teacher.hidden_weight, join(o.teacher.hidden));
  line("steps at most {}, {} batches a step, lengths together {}", o.max_steps, o.accumulate,
       o.bucket_lengths);
  line("validates every {} steps, patience {}", o.evaluate_steps, o.patience);
  line("precision {}, processes {}", static_cast<int>(o.precision), o.world.size);
  line("trains {} freezes {}", join(o.train), join(o.freeze));
  line("weight scales {}, activation scales {}, statistics frozen {}",
       static_cast<int>(o.weight_scales), static_cast<int>(o.activation_scales),
       o.freeze_statistics);
  line("keeps the best {}", o.keep_best);
  line("device {}, threads {}", static_cast<int>(o.device), threads);
  return text;
}

} // namespace octet::train
