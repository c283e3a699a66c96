# SPDX-License-Identifier: Apache-2.0
# What cmake --install puts where, in three components: runtime (the command and liboctet), development (headers,
# find_package(octet), pkg-config) and training. Nothing of it knows where it was installed: a folder may be moved.
include(CMakePackageConfigHelpers)

install(TARGETS liboctet EXPORT octet
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
if(TARGET octet)
  install(TARGETS octet COMPONENT runtime)
endif()
if(TARGET octet_static)
  install(TARGETS octet_static EXPORT octet COMPONENT development)
endif()
foreach(part octet_train octet_tensorrt) # loaded by the command, linked by nobody
  if(TARGET ${part})
    install(TARGETS ${part} COMPONENT training)
  endif()
endforeach()

install(FILES include/octet.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
if(OCTET_RUNTIME_ONLY)
  list(TRANSFORM runtime_headers REPLACE "(.+)" "include/octet/\\1.h")
  install(FILES ${runtime_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/octet COMPONENT development)
else()
  install(DIRECTORY include/octet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
endif()

# find_package(octet 0.2): targets octet::octet and, where it was built, octet::static.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/octet)
configure_package_config_file(cmake/octetConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/octetConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/octetConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(EXPORT octet NAMESPACE octet:: FILE octetTargets.cmake DESTINATION ${package_folder} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/generated/octetConfig.cmake ${PROJECT_BINARY_DIR}/generated/octetConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)

# pkg-config octet: folders from where the file lies.
cmake_path(SET pkgconfig_folder NORMALIZE "/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(RELATIVE_PATH pkgconfig_folder BASE_DIRECTORY "/" OUTPUT_VARIABLE pkgconfig_folder)
file(RELATIVE_PATH prefix_from_pkgconfig "/${pkgconfig_folder}" "/")
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
configure_file(cmake/octet.pc.in ${PROJECT_BINARY_DIR}/generated/octet.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/octet.pc DESTINATION ${pkgconfig_folder} COMPONENT development)

# Manual pages and completion, as the command's own help has them.
if(TARGET octet)
  set(help_folder ${PROJECT_BINARY_DIR}/generated/help)
  add_custom_command(TARGET octet POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${help_folder}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${help_folder}
    COMMAND octet help --man ${help_folder}/man1 > ${help_folder}/said
    COMMAND octet help --completion bash > ${help_folder}/octet
    COMMAND octet help --completion zsh > ${help_folder}/_octet
    VERBATIM)
  install(DIRECTORY ${help_folder}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT runtime)
  install(FILES ${help_folder}/octet DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime)
  install(FILES ${help_folder}/_octet DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT runtime)
endif()

# In the places and under the name that Debian gives them.
set(doc_folder ${CMAKE_INSTALL_DATADIR}/doc)
install(FILES CHANGELOG.md DESTINATION ${doc_folder}/octet COMPONENT runtime)
install(FILES LICENSE DESTINATION ${doc_folder}/octet COMPONENT runtime RENAME copyright)
install(FILES LICENSE DESTINATION ${doc_folder}/octet-dev COMPONENT development RENAME copyright)
if(TARGET octet_train)
  install(FILES LICENSE DESTINATION ${doc_folder}/octet-train COMPONENT training RENAME copyright)
endif()
