# What `cmake --install` copies: both libraries with their headers, CMake package and pkg-config file, and the
# command.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thresher)
set(libraries thresher)
if(TARGET thresher_shared)
  list(APPEND libraries thresher_shared)
endif()
install(TARGETS ${libraries} EXPORT thresher_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT thresher_targets NAMESPACE thresher:: FILE thresher-targets.cmake
        DESTINATION ${package_dir})

# Before 1.0 a minor version may change the promise.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/thresher-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/thresher-config.cmake
              ${PROJECT_BINARY_DIR}/thresher-config-version.cmake
        DESTINATION ${package_dir})

# Its paths are relative to where the file lies, so that an installed tree can be moved.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
string(REGEX REPLACE "([^;]+)" "-l\\1" private_libraries
       "${cxx_runtime};pthread;${CMAKE_DL_LIBS}")
list(JOIN private_libraries " " private_libraries)
configure_file(${PROJECT_SOURCE_DIR}/cmake/thresher.pc.in ${PROJECT_BINARY_DIR}/thresher.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/thresher.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(THRESHER_TOOLS)
  install(TARGETS thresher_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
