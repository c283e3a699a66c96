// SPDX-License-Identifier: Apache-2.0
// The choice between the forms of a kernel. Made before a loop, never inside it.
#pragma once

#include <type_traits>

#include "core/cpu.h"

namespace octet {

#if defined(__x86_64__)
template <typename Form, Isa needs, auto form, auto... rest>
constexpr Form last_form(Isa isa, Form best) {
  if (isa.has(needs)) best = form;
  if constexpr (sizeof...(rest) > 0) return last_form<Form, rest...>(isa, best);
  return best;
}
#endif

/// A table of forms, which are functions, addresses or numbers of one type: what every processor
/// runs, then in turn what the next form needs and the form, worst first. Gives the last one whose
/// needs `isa` has. On other processors than x86-64 there is the first alone, and the others need
/// no definition: an argument of a template names a function but does not refer to it.
template <auto portable, auto... forms>
constexpr auto for_isa([[maybe_unused]] Isa isa) {
  std::remove_const_t<decltype(portable)> form = portable;
#if defined(__x86_64__)
  if constexpr (sizeof...(forms) > 0) form = last_form<decltype(form), forms...>(isa, form);
#endif
  return form;
}

} // namespace octet
