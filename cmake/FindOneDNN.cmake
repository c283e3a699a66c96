# SPDX-License-Identifier: Apache-2.0
# oneDNN, a peer in benchmarks. Its own CMake package is not used: Debian's wants the OpenCL headers, which nothing here
# needs. Defines OneDNN::OneDNN.
find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h)
find_library(ONEDNN_LIBRARY dnnl)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS ONEDNN_LIBRARY ONEDNN_INCLUDE_DIR)
if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES IMPORTED_LOCATION ${ONEDNN_LIBRARY})
  target_include_directories(OneDNN::OneDNN INTERFACE ${ONEDNN_INCLUDE_DIR})
endif()
mark_as_advanced(ONEDNN_INCLUDE_DIR ONEDNN_LIBRARY)
