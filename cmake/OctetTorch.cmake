# SPDX-License-Identifier: Apache-2.0
# LibTorch as the imported target octet_torch. Looked for in Torch_ROOT, the cache that tools/setup fills, and the
# torch of python3. find_package(Torch) is not used: it fails on a tree that was stripped to what a CPU machine needs.
set(torch_version 2.15.0)
if(DEFINED ENV{XDG_CACHE_HOME})
  set(torch_cache $ENV{XDG_CACHE_HOME}/octet/libtorch-${torch_version})
else()
  set(torch_cache $ENV{HOME}/.cache/octet/libtorch-${torch_version})
endif()
set(Torch_ROOT "$ENV{Torch_ROOT}" CACHE PATH "folder of LibTorch (with include/ and lib/)")
set(torch_candidates ${Torch_ROOT} ${torch_cache}/torch)
if(NOT Torch_ROOT AND NOT EXISTS ${torch_cache}/torch)
  execute_process(COMMAND python3 -c "import torch, os; print(os.path.dirname(torch.__file__))"
    OUTPUT_VARIABLE python_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND torch_candidates ${python_torch})
endif()
unset(octet_torch_root)
foreach(candidate IN LISTS torch_candidates)
  if(EXISTS ${candidate}/lib/libtorch_cpu.so)
    set(octet_torch_root ${candidate})
    break()
  endif()
endforeach()
if(NOT octet_torch_root)
  message(FATAL_ERROR "no LibTorch in ${torch_candidates}; run tools/setup, set Torch_ROOT, or configure with -DOCTET_TRAIN=OFF")
endif()
file(STRINGS ${octet_torch_root}/include/torch/headeronly/version.h torch_version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
string(REGEX MATCHALL "[0-9]+" torch_version_numbers "${torch_version_lines}")
list(JOIN torch_version_numbers . torch_found)
if(torch_found VERSION_LESS 2.11)
  message(FATAL_ERROR "${octet_torch_root} is LibTorch ${torch_found}; octet needs 2.11 or newer")
endif()
message(STATUS "LibTorch ${torch_found}: ${octet_torch_root}")

add_library(octet_torch INTERFACE)
# Behind everything: LibTorch ships its own fmt, oneDNN and protobuf headers.
target_compile_options(octet_torch INTERFACE
  "SHELL:-idirafter ${octet_torch_root}/include"
  "SHELL:-idirafter ${octet_torch_root}/include/torch/csrc/api/include")
target_link_libraries(octet_torch INTERFACE ${octet_torch_root}/lib/libtorch_cpu.so ${octet_torch_root}/lib/libc10.so)
# The CUDA runtime that came with LibTorch, not one of the system.
cmake_path(GET octet_torch_root PARENT_PATH torch_parent)
set(torch_library_path ${octet_torch_root}/lib ${torch_parent}/nvidia/cu13/lib)
list(JOIN torch_library_path : torch_rpath)
target_link_options(octet_torch INTERFACE -Wl,-rpath,${torch_rpath} -Wl,-rpath-link,${torch_rpath})
