# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, optimization and linker. No -m flag and no fast-math anywhere: instruction sets are chosen
# at run time, and numbers must not depend on what a compiler contracts.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, Sanitize or SanitizeThread" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_SANITIZE
    "-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all")
set(CMAKE_CXX_FLAGS_SANITIZETHREAD "-O1 -g1 -fno-omit-frame-pointer -fsanitize=thread")

# Most files are small beside what they include. Those with options of their own are compiled alone.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "compile files of a target together")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 28)

find_program(OCTET_CCACHE ccache)
if(OCTET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/compile_cached)
endif()

# Designated initializers leave the other members at their defaults, so nothing warns about missing ones. Files that are
# compiled together may use the same names as their neighbours, and headers' types as if they were headers.
add_library(octet_flags INTERFACE)
target_compile_options(octet_flags INTERFACE
  -ffp-contract=off -Wall -Wextra -Wno-missing-field-initializers -fno-semantic-interposition
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local;-Wno-subobject-linkage;-fpch-preprocess,-Wshadow>
  $<$<BOOL:${OCTET_WERROR}>:-Werror>)
target_compile_definitions(octet_flags INTERFACE OCTET_VERSION="${PROJECT_VERSION}")
find_program(OCTET_MOLD mold)
find_program(OCTET_LLD ld.lld)
if(OCTET_MOLD)
  target_link_options(octet_flags INTERFACE -fuse-ld=mold)
elseif(OCTET_LLD)
  target_link_options(octet_flags INTERFACE -fuse-ld=lld)
endif()

# A missing definition fails where it is missing; the sanitizers' own come from the executable.
if(NOT CMAKE_BUILD_TYPE MATCHES Sanitize)
  target_link_options(octet_flags INTERFACE -Wl,--no-undefined)
endif()
