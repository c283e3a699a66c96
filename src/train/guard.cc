// SPDX-License-Identifier: Apache-2.0
// Exceptions into errors.
#include "train/guard.h"

#include <cctype>

namespace octet::train {

std::string plain_message(const char* message) {
  std::string text(message);
  text = text.substr(0, text.find('\n'));
  while (!text.empty() &&
         (text.back() == '.' || std::isspace(static_cast<unsigned char>(text.back()))))
    text.pop_back();
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

Error current_error() {
  try {
    throw;
  } catch (const c10::OutOfMemoryError&) {
    return Error("the device has no memory left; use a smaller batch");
  } catch (const c10::Error& e) {
    return Error(plain_message(e.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    return Error("no memory left; use a smaller batch");
  } catch (const std::exception& e) {
    return Error(plain_message(e.what()), ErrorCode::kInternal);
  } catch (...) {
    return Error("an unknown exception of LibTorch's", ErrorCode::kInternal);
  }
}

} // namespace octet::train
