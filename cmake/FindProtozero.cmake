# SPDX-License-Identifier: Apache-2.0
# protozero is headers only and installs no CMake package. Defines protozero::protozero.
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Protozero REQUIRED_VARS PROTOZERO_INCLUDE_DIR)
if(Protozero_FOUND AND NOT TARGET protozero::protozero)
  add_library(protozero::protozero INTERFACE IMPORTED)
  target_include_directories(protozero::protozero INTERFACE ${PROTOZERO_INCLUDE_DIR})
endif()
mark_as_advanced(PROTOZERO_INCLUDE_DIR)
