# SPDX-License-Identifier: Apache-2.0
# Packages, by cpack in the build folder (make package): a .tar.gz of everything, which runs where it is unpacked, and
# three .deb, one a component.
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME octet)
set(CPACK_PACKAGE_VENDOR octet)
set(CPACK_PACKAGE_CONTACT "octet's maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains, quantizes, checks and runs 8-bit neural networks")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" system)
set(CPACK_PACKAGE_FILE_NAME octet-${PROJECT_VERSION}-${system})
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_COMPONENTS_ALL runtime development)
if(TARGET octet_train)
  list(APPEND CPACK_COMPONENTS_ALL training)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME octet)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "libcurl4, libarchive13, libgvc6") # loaded when something is fetched, or drawn
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The command octet and the library that programs run models with.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME octet-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "octet (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers of liboctet for C and C++, and what CMake and pkg-config read.")

# No package of Debian has a LibTorch that is new enough.
set(CPACK_DEBIAN_TRAINING_PACKAGE_NAME octet-train)
set(CPACK_DEBIAN_TRAINING_PACKAGE_DEPENDS "octet (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_TRAINING_DESCRIPTION
  "What octet train, pretrain and qat load. It needs LibTorch 2.11 or newer, which LD_LIBRARY_PATH names.")
include(CPack)
