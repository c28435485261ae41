# The thresher command. The C++ runtime is linked in, so that the binary runs where nothing can be
# installed.
# Bench needs the referee's statistics. The rest of the tournament is under construction: its commands and
# its folders are built when THRESHER_TOURNAMENT asks for them.
set(tournament_commands
  constraints ledger ledger_path match match_report pitch referee referee_selftest referee_simulate report
  round scoreboard scoreboard_report season season_command worker)
set(tool_sources ${PROJECT_SOURCE_DIR}/src/referee/statistics.cpp)
foreach(folder src/cli bench)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(APPEND tool_sources ${sources})
endforeach()
foreach(command main ${tournament_commands})
  list(REMOVE_ITEM tool_sources ${PROJECT_SOURCE_DIR}/src/cli/${command}.cpp)
endforeach()

# Everything but main(), so that tests reach it.
add_library(thresher_tools STATIC ${tool_sources})
target_include_directories(thresher_tools PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(thresher_tools
  PUBLIC thresher PRIVATE thresher_flags ${CMAKE_DL_LIBS} m)
target_compile_definitions(thresher_tools PUBLIC THRESHER_VERSION="${PROJECT_VERSION}")
if(THRESHER_TOURNAMENT)
  include(cmake/tournament.cmake)
endif()

add_executable(thresher_cli ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
set_target_properties(thresher_cli PROPERTIES OUTPUT_NAME thresher)
target_link_libraries(thresher_cli PRIVATE thresher_tools thresher_flags)
if(NOT THRESHER_SANITIZE)
  target_link_options(thresher_cli PRIVATE -static-libstdc++ -static-libgcc)
endif()
