# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, optimization and linker. No -m flag and no fast-math anywhere: instruction sets are chosen
# at run time, and numbers must not depend on what a compiler contracts.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or Sanitize" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_SANITIZE
    "-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all")

find_program(OCTET_CCACHE ccache)
if(OCTET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/compile.in ${PROJECT_BINARY_DIR}/compile @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_BINARY_DIR}/compile)
endif()

# Designated initializers leave the other members at their defaults, so nothing warns about missing ones.
add_library(octet_flags INTERFACE)
target_compile_options(octet_flags INTERFACE
  -ffp-contract=off -Wall -Wextra -Wshadow -Wno-missing-field-initializers -fno-semantic-interposition
  $<$<BOOL:${OCTET_WERROR}>:-Werror>)
find_program(OCTET_MOLD mold)
find_program(OCTET_LLD ld.lld)
if(OCTET_MOLD)
  target_link_options(octet_flags INTERFACE -fuse-ld=mold)
elseif(OCTET_LLD)
  target_link_options(octet_flags INTERFACE -fuse-ld=lld)
endif()

# A missing definition fails where it is missing; the sanitizers' own come from the executable.
if(NOT CMAKE_BUILD_TYPE STREQUAL Sanitize)
  target_link_options(octet_flags INTERFACE -Wl,--no-undefined)
endif()

# Compiles some files of a target as one: most of a file's time goes into what it includes. The sanitizers' build compiles
# each file alone, which finds one that gets an include from its neighbour. Left out: operators, which all define the same
# names, and files that take no precompiled header or have definitions of their own. Files of equal options come together.
# The generated files name no folder of this machine, so that ccache knows them in another checkout.
function(octet_compile_together target batch)
  if(NOT CMAKE_BUILD_TYPE STREQUAL Release)
    return()
  endif()
  get_target_property(files ${target} SOURCES)
  set(alone)
  set(groups)
  foreach(file IN LISTS files)
    get_source_file_property(options ${file} COMPILE_OPTIONS)
    get_source_file_property(definitions ${file} COMPILE_DEFINITIONS)
    get_source_file_property(skips ${file} SKIP_PRECOMPILE_HEADERS)
    if(definitions OR skips OR file MATCHES "/src/ops/" OR NOT file MATCHES "/(src|tests)/([^.]*\\.cc)$")
      list(APPEND alone ${file})
    else()
      string(SHA1 group "${options}")
      list(APPEND groups ${group})
      set(options_${group} ${options})
      list(APPEND lines_${group} "#include \"${CMAKE_MATCH_2}\"\n")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES groups)
  set(number 0)
  foreach(group IN LISTS groups)
    set(lines ${lines_${group}})
    set(options -Wno-shadow -Wshadow=local -Wno-subobject-linkage) # not of neighbours, which are no headers
    if(options_${group})
      list(PREPEND options ${options_${group}})
    endif()
    while(lines)
      list(SUBLIST lines 0 ${batch} some)
      list(LENGTH lines count)
      if(count GREATER batch)
        list(SUBLIST lines ${batch} -1 lines)
      else()
        set(lines)
      endif()
      string(CONCAT text ${some})
      set(together ${PROJECT_BINARY_DIR}/together/${target}_${number}.cc)
      file(CONFIGURE OUTPUT ${together} CONTENT "${text}" @ONLY)
      set_source_files_properties(${together} PROPERTIES COMPILE_OPTIONS "${options}")
      list(APPEND alone ${together})
      math(EXPR number "${number} + 1")
    endwhile()
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${alone})
endfunction()

# The kernels get -O3; they and quantization also convert nothing implicitly. What only looks at graphs, and the operators'
# reference, are compiled with -O1, which takes a fifth less; g++ then takes some values for uninitialized that are not.
function(octet_room_options target)
  get_target_property(files ${target} SOURCES)
  foreach(file IN LISTS files)
    if(file MATCHES "/src/runtime/kernels/")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> -Wconversion)
      # A header that was precompiled with other options is of no use to them.
      set_property(SOURCE ${file} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    elseif(file MATCHES "/src/ops/matrix_product.cc$") # the loop in which the reference spends its time
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
    elseif(file MATCHES "/src/quant/")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -Wconversion)
    elseif(file MATCHES "/src/(ops|passes|targets|models|report)/")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1> $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)
    endif()
  endforeach()
endfunction()
