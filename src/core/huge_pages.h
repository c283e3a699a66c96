// SPDX-License-Identifier: Apache-2.0
// Memory that runs read over and over, in pages of 2 MiB where the system gives such pages on advice
// (madvise(2), MADV_HUGEPAGE). Of pages of 4 KiB a processor keeps the places of some 2,000; to look one
// up takes up to four reads of memory, in a virtual machine up to 24.
#pragma once

#include <cstddef>
#include <memory>

#include "octet/tensor.h"

namespace octet {

/// As Buffer::allocate: zeroed, aligned to 64, null when there is none. A mapping of its own where that
/// gives it huge pages; at most half of one of these is more than was asked for.
std::shared_ptr<Buffer> allocate_in_huge_pages(size_t bytes);

/// The same for many buffers that live about as long, of a few KiB to some MiB: they share mappings,
/// whose first MiB is of small pages. What a buffer took is given back with it, its addresses with the
/// last one of its mapping. Any thread.
std::shared_ptr<Buffer> allocate_among_others(size_t bytes);

} // namespace octet
