# The thresher command. The C++ runtime is linked in, so that the binary runs where nothing can be
# installed.
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cpp)
file(GLOB peer_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
file(GLOB referee_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/referee/*.cpp)
list(REMOVE_ITEM cli_sources ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)

# Everything but main(), so that tests reach it.
add_library(thresher_tools STATIC ${cli_sources} ${peer_sources} ${referee_sources})
target_include_directories(thresher_tools PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(thresher_tools PUBLIC thresher PRIVATE thresher_flags ${CMAKE_DL_LIBS})
target_compile_definitions(thresher_tools PUBLIC THRESHER_VERSION="${PROJECT_VERSION}")

add_executable(thresher_cli ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
set_target_properties(thresher_cli PROPERTIES OUTPUT_NAME thresher)
target_link_libraries(thresher_cli PRIVATE thresher_tools thresher_flags)
if(NOT THRESHER_SANITIZE)
  target_link_options(thresher_cli PRIVATE -static-libstdc++ -static-libgcc)
endif()
