// SPDX-License-Identifier: Apache-2.0
#include "targets/mend.h"

namespace octet {

std::string_view name(Mend mend) {
  switch (mend) {
  case Mend::kNone:
    break;
#define MEND(mend, name, function)                                                                 \
  case Mend::mend:                                                                                 \
    return name;
#include "targets/mends.def"
#undef MEND
  }
  return "";
}

} // namespace octet
