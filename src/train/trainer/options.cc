// SPDX-License-Identifier: Apache-2.0
// Checks of the training options.
#include <cmath>

#include "core/format.h"
#include "core/threads.h"
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
  OCTET_TRY(check_range("the decay of clips", o.optimizer.clip_decay, 0, 1e3));
  OCTET_TRY(check_range("the share before scales freeze", o.freeze_scales_after, 0, 1));
  OCTET_TRY(check_range("the share before statistics freeze", o.freeze_statistics_after, 0, 1));
  OCTET_TRY(check_range("the clipping norm", o.optimizer.clip_norm, 0, 1e30));
  OCTET_TRY(check_range("label smoothing", o.label_smoothing, 0, 1));
  OCTET_TRY(check_range("the validation split", o.validation_split, 0, 0.9));
  OCTET_TRY(check_range("the warm fraction", o.schedule.warm_fraction, 0, 1));
  OCTET_TRY_WITH(check_threads(o.threads), "train");
  OCTET_TRY(check_range("the warm-up fraction", o.schedule.warmup_fraction, 0, 1));
  OCTET_TRY(check_range("accumulate", static_cast<double>(o.accumulate), 1, 1e6));
  OCTET_TRY(check_range("max steps", static_cast<double>(o.max_steps), 0, 1e12));
  OCTET_TRY(check_range("patience", static_cast<double>(o.patience), 0, 1e6));
  OCTET_TRY(check_range("the teacher's weight", o.teacher.weight, 0, 1));
  OCTET_TRY(check_range("the teacher's temperature", o.teacher.temperature, 1e-3, 1e3));
  OCTET_TRY(check_range("the weight of hidden values", o.teacher.hidden_weight, 0, 1e6));
  OCTET_TRY(check_range("the number of processes", o.world.size, 1, 1 << 16));
  OCTET_TRY(check_range("the rank", o.world.rank, 0, o.world.size - 1));
  OCTET_TRY(check_range("the FP8 history", static_cast<double>(o.fp8.history), 1, 1 << 20));
  OCTET_TRY(check_range("the FP8 margin", o.fp8.margin, -64, 64));
  if (o.precision == Precision::kFloat16 && o.device == Device::kCpu)
    return error(ErrorCode::kUnsupported,
                 "train: f16 needs a CUDA device; on the CPU use f32 or bf16");
  if (o.resume && o.checkpoint.empty())
    return error("train: resuming needs the path of a checkpoint");
  return ok_status();
}

} // namespace octet::train
