# The thresher command. The C++ runtime is linked in, so that the binary runs where nothing can be
# installed.
set(tool_sources)
foreach(folder src/arena src/measure src/cli src/referee src/tune src/tank src/cluster src/report bench)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(APPEND tool_sources ${sources})
endforeach()
list(REMOVE_ITEM tool_sources ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)

# Everything but main(), so that tests reach it.
add_library(thresher_tools STATIC ${tool_sources})
target_include_directories(thresher_tools PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(thresher_tools
  PUBLIC thresher PRIVATE thresher_flags ${CMAKE_DL_LIBS} m)
thresher_compile_together(thresher_tools)
# What is fast here is in the library.
target_compile_options(thresher_tools PRIVATE $<$<CONFIG:Release>:-O2>)
target_compile_definitions(thresher_tools PUBLIC THRESHER_VERSION="${PROJECT_VERSION}")
# The two large headers that most of these files include; no file relies on that.
target_precompile_headers(thresher_tools PRIVATE <nlohmann/json.hpp> <fmt/format.h>)
include(cmake/tournament.cmake)

add_executable(thresher_cli ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
set_target_properties(thresher_cli PROPERTIES OUTPUT_NAME thresher)
target_link_libraries(thresher_cli PRIVATE thresher_tools thresher_flags)
if(NOT THRESHER_SANITIZE)
  target_link_options(thresher_cli PRIVATE -static-libstdc++ -static-libgcc)
endif()

# What entries for the arena are made of.
file(GLOB arena_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/arena/*.py
     ${PROJECT_SOURCE_DIR}/src/arena/kernels/*)
thresher_embed(thresher_tools kArenaFiles BASE ${PROJECT_SOURCE_DIR}/src FILES ${arena_files})
# What NVRTC compiles for the peers on a GPU.
thresher_embed(thresher_tools kPeerKernelSources BASE ${PROJECT_SOURCE_DIR}
               FILES ${PROJECT_SOURCE_DIR}/bench/gpu_peer_kernels.cuh
                     ${PROJECT_SOURCE_DIR}/bench/gpu_peer_args.hpp)
# Peers that are programs, and who speaks the protocol for them.
file(GLOB peer_programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/programs/*.py)
thresher_embed(thresher_tools kPeerPrograms BASE ${PROJECT_SOURCE_DIR}
               FILES ${PROJECT_SOURCE_DIR}/pitches/serve.py ${peer_programs})
