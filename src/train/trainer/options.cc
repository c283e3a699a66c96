// SPDX-License-Identifier: Apache-2.0
// Checks of the training options, and the text that tells runs apart.
#include <cmath>

#include "core/format.h"
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
  line("loss {} smoothing {}", static_cast<int>(o.loss), o.label_smoothing);
  line("trains {} freezes {}", join(o.train), join(o.freeze));
  line("weight scales {}, activation scales {}, statistics frozen {}",
       static_cast<int>(o.weight_scales), static_cast<int>(o.activation_scales),
       o.freeze_statistics);
  line("keeps the best {}", o.keep_best);
  line("device {}, threads {}", static_cast<int>(o.device), threads);
  return text;
}

} // namespace octet::train
