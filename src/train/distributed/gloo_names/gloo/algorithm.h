// SPDX-License-Identifier: Apache-2.0
#include "train/distributed/gloo_names/gloo/names.h"
