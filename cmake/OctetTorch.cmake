# SPDX-License-Identifier: Apache-2.0
# LibTorch as the imported target octet_torch. tools/find-torch says where it is. find_package(Torch) is not used: it fails on a tree that was stripped to what a CPU machine needs.
set(Torch_ROOT "$ENV{Torch_ROOT}" CACHE PATH "folder of LibTorch (with include/ and lib/)")
execute_process(COMMAND ${CMAKE_COMMAND} -E env Torch_ROOT=${Torch_ROOT} ${PROJECT_SOURCE_DIR}/tools/find-torch
  OUTPUT_VARIABLE octet_torch_root OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE torch_missing)
if(torch_missing)
  message(FATAL_ERROR "no LibTorch 2.11 or newer; run tools/setup, set Torch_ROOT, or configure with -DOCTET_TRAIN=OFF")
endif()
file(STRINGS ${octet_torch_root}/include/torch/headeronly/version.h torch_version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
string(REGEX MATCHALL "[0-9]+" torch_version_numbers "${torch_version_lines}")
list(JOIN torch_version_numbers . torch_found)
if(torch_found VERSION_LESS 2.11)
  message(FATAL_ERROR "${octet_torch_root} is LibTorch ${torch_found}; octet needs 2.11 or newer")
endif()
message(STATUS "LibTorch ${torch_found}: ${octet_torch_root}")
set(Torch_FOUND_ROOT ${octet_torch_root} CACHE INTERNAL "the LibTorch in use")

add_library(octet_torch INTERFACE)
# Behind everything: LibTorch ships its own fmt, oneDNN and protobuf headers.
target_compile_options(octet_torch INTERFACE
  "SHELL:-idirafter ${octet_torch_root}/include"
  "SHELL:-idirafter ${octet_torch_root}/include/torch/csrc/api/include")
# One header an operator: ATen/Functions.h costs tens of seconds a file.
target_compile_definitions(octet_torch INTERFACE AT_PER_OPERATOR_HEADERS)
target_link_libraries(octet_torch INTERFACE ${octet_torch_root}/lib/libtorch_cpu.so ${octet_torch_root}/lib/libc10.so)
# The CUDA runtime that came with LibTorch, not one of the system.
cmake_path(GET octet_torch_root PARENT_PATH torch_parent)
set(torch_library_path ${octet_torch_root}/lib ${torch_parent}/nvidia/cu13/lib)
list(JOIN torch_library_path : torch_rpath)
target_link_options(octet_torch INTERFACE -Wl,-rpath,${torch_rpath} -Wl,-rpath-link,${torch_rpath})
