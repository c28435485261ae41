# What `cmake --install` copies: the library with its headers and CMake package, and the command.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thresher)
install(TARGETS thresher EXPORT thresher_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
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

if(THRESHER_TOOLS)
  install(TARGETS thresher_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
