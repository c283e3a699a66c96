// SPDX-License-Identifier: Apache-2.0
// Answers requests (protocol/serve.h) with everything that the library makes of one model.
#include "protocol/serve.h"

int main() {
  octet::differential::serve([](const octet::differential::Request& request) {
    return octet::differential::answer(request.graph, request.sets, request.variant,
                                       request.bounds);
  });
  return 0;
}
