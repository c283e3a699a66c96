# SPDX-License-Identifier: Apache-2.0
# TensorRT and the CUDA runtime as the imported target tensorrt::tensorrt: NVIDIA's archive, the packages of a
# distribution (TENSORRT_ROOT=/usr) or the folder of the Python package, which has no names without a version.
set(tensorrt_parts TENSORRT_INCLUDE_DIR TENSORRT_nvinfer TENSORRT_nvonnxparser TENSORRT_CUDA_INCLUDE_DIR TENSORRT_CUDART)
if(NOT "${TENSORRT_ROOT}" STREQUAL "${TENSORRT_SEARCHED_ROOT}") # what another one had is no longer meant
  foreach(part IN LISTS tensorrt_parts)
    unset(${part} CACHE)
  endforeach()
  set(TENSORRT_SEARCHED_ROOT "${TENSORRT_ROOT}" CACHE INTERNAL "where TensorRT was looked for")
endif()
set(tensorrt_folders lib lib64 lib/x86_64-linux-gnu lib/aarch64-linux-gnu .)
find_path(TENSORRT_INCLUDE_DIR NvInfer.h PATHS ${TENSORRT_ROOT} NO_DEFAULT_PATH
  PATH_SUFFIXES include include/x86_64-linux-gnu include/aarch64-linux-gnu .)
foreach(library nvinfer nvonnxparser)
  find_library(TENSORRT_${library} PATHS ${TENSORRT_ROOT} NO_DEFAULT_PATH PATH_SUFFIXES ${tensorrt_folders}
    NAMES ${library} lib${library}.so.11 lib${library}.so.10 lib${library}.so.8)
endforeach()
find_path(TENSORRT_CUDA_INCLUDE_DIR cuda_runtime_api.h HINTS ${TENSORRT_ROOT} $ENV{CUDA_ROOT} $ENV{CUDA_HOME}
  PATHS /usr/local/cuda PATH_SUFFIXES include)
find_library(TENSORRT_CUDART NAMES cudart libcudart.so.13 libcudart.so.12 libcudart.so.11.0
  HINTS ${TENSORRT_ROOT} $ENV{CUDA_ROOT} $ENV{CUDA_HOME} PATHS /usr/local/cuda PATH_SUFFIXES ${tensorrt_folders})
foreach(part IN LISTS tensorrt_parts)
  if(NOT ${part})
    message(FATAL_ERROR "no ${part} at TENSORRT_ROOT=${TENSORRT_ROOT} (NvInfer.h, libnvinfer and libnvonnxparser) or "
      "CUDA_ROOT=$ENV{CUDA_ROOT} (cuda_runtime_api.h, libcudart); set these folders, or unset TENSORRT_ROOT and "
      "configure with -DTENSORRT_ROOT= -DOCTET_TENSORRT=OFF")
  endif()
endforeach()
message(STATUS "TensorRT: ${TENSORRT_nvinfer}, headers in ${TENSORRT_INCLUDE_DIR}")

add_library(tensorrt::tensorrt INTERFACE IMPORTED)
target_include_directories(tensorrt::tensorrt SYSTEM INTERFACE ${TENSORRT_INCLUDE_DIR} ${TENSORRT_CUDA_INCLUDE_DIR})
target_link_libraries(tensorrt::tensorrt INTERFACE ${TENSORRT_nvinfer} ${TENSORRT_nvonnxparser} ${TENSORRT_CUDART})
foreach(library TENSORRT_nvinfer TENSORRT_CUDART)
  cmake_path(GET ${library} PARENT_PATH folder)
  target_link_options(tensorrt::tensorrt INTERFACE -Wl,-rpath,${folder} -Wl,-rpath-link,${folder})
endforeach()
