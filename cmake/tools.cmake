# The thresher command. The C++ runtime is linked in, so that the binary runs where nothing can be
# installed. Everything but main() is the library thresher_tools, so that tests reach it.
function(thresher_tool_sources result)
  set(found)
  foreach(folder IN LISTS ARGN)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND found ${sources})
  endforeach()
  list(REMOVE_ITEM found ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Whatever is told, kept and printed.
thresher_tool_sources(sources src/arena src/cli src/cluster src/report src/tank)
add_library(thresher_telling OBJECT ${sources})
# Whatever measures, computes and is compared with.
thresher_tool_sources(sources src/measure src/referee src/tune bench)
add_library(thresher_tools STATIC ${sources} $<TARGET_OBJECTS:thresher_telling>)
target_link_libraries(thresher_tools PRIVATE ${CMAKE_DL_LIBS} m)
# What is fast here is in the library, and to optimise what prints a table takes longer than its table ever will.
target_compile_options(thresher_tools PRIVATE $<$<CONFIG:Release>:-O2>)
target_compile_options(thresher_telling PRIVATE $<$<CONFIG:Release>:-O1>)
foreach(target thresher_telling thresher_tools)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC thresher PRIVATE thresher_flags)
  target_compile_definitions(${target} PUBLIC THRESHER_VERSION="${PROJECT_VERSION}")
  thresher_compile_together(${target})
  # The two large headers that most of these files include; no file relies on that. Each has its own: GCC 12 crashes
  # where a header was compiled with less optimisation than the file.
  target_precompile_headers(${target} PRIVATE <nlohmann/json.hpp> <fmt/format.h>)
endforeach()
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
thresher_embed(thresher_telling kArenaFiles BASE ${PROJECT_SOURCE_DIR}/src FILES ${arena_files})
# What NVRTC compiles for the peers on a GPU.
thresher_embed(thresher_telling kPeerKernelSources BASE ${PROJECT_SOURCE_DIR}
               FILES ${PROJECT_SOURCE_DIR}/bench/gpu_peer_kernels.cuh
                     ${PROJECT_SOURCE_DIR}/bench/gpu_peer_args.hpp)
# Peers that are programs, and who speaks the protocol for them.
file(GLOB peer_programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/programs/*.py)
thresher_embed(thresher_tools kPeerPrograms BASE ${PROJECT_SOURCE_DIR}
               FILES ${PROJECT_SOURCE_DIR}/pitches/serve.py ${peer_programs})
