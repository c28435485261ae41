# What find_package(thresher) reads in an installed tree.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/thresher-targets.cmake)
