// SPDX-License-Identifier: Apache-2.0
// A download on the terminal: the bytes of one file after the other on one line, until it is stopped.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/terminal.h"
#include "core/progress.h"

namespace octet::cli {

class DownloadProgress {
 public:
  /// Valid while this lives.
  Callbacks callbacks() {
    Callbacks out;
    out.cancel = &interruptible_.token();
    out.progress = [this](const Progress& p) {
      if (stage_ != p.stage) line_.restart(stage_ = p.stage);
      line_.update(p.done, p.total, p.note);
    };
    out.log = [this](LogLevel, std::string_view text) { line_.line(text); };
    return out;
  }

 private:
  ProgressLine line_{"download", "bytes"};
  Interruptible interruptible_;
  std::string stage_;
};

} // namespace octet::cli
