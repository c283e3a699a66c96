# SPDX-License-Identifier: Apache-2.0
# C for the tests and examples of octet.h; octet itself needs none. The compiler is the one of C++, so that sanitizers fit.
if(NOT CMAKE_C_COMPILER)
  cmake_path(GET CMAKE_CXX_COMPILER PARENT_PATH c_folder)
  cmake_path(GET CMAKE_CXX_COMPILER FILENAME c_name)
  string(REPLACE "clang++" "clang" c_name ${c_name})
  string(REPLACE "g++" "gcc" c_name ${c_name})
  string(REPLACE "c++" "cc" c_name ${c_name})
  set(CMAKE_C_COMPILER ${c_folder}/${c_name})
endif()
foreach(build RELEASE DEBUG SANITIZE SANITIZETHREAD)
  set(CMAKE_C_FLAGS_${build} "${CMAKE_CXX_FLAGS_${build}}")
endforeach()
enable_language(C)
# A program in C: each file by itself. C++ links it where the library is sanitized, with the parts that it needs.
function(octet_add_c_executable name)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  if(CMAKE_BUILD_TYPE MATCHES Sanitize)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  target_link_libraries(${name} PRIVATE octet_c_flags liboctet)
endfunction()

add_library(octet_c_flags INTERFACE)
target_compile_options(octet_c_flags INTERFACE -std=c11 -pedantic -Wall -Wextra -Wno-missing-field-initializers
  $<$<BOOL:${OCTET_WERROR}>:-Werror>)
