# The thresher command. The C++ runtime is linked in, so that the binary runs where nothing can be
# installed.
set(tool_sources)
foreach(folder src/referee src/tank src/report src/cli bench)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(APPEND tool_sources ${sources})
endforeach()
list(REMOVE_ITEM tool_sources ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)

# The ledger's. The static archive where there is one, for the same reason.
thresher_require_header(sqlite3.h libsqlite3-dev)
find_library(THRESHER_SQLITE NAMES libsqlite3.a sqlite3 REQUIRED)
mark_as_advanced(THRESHER_SQLITE)

# Everything but main(), so that tests reach it.
add_library(thresher_tools STATIC ${tool_sources})
target_include_directories(thresher_tools PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(thresher_tools
  PUBLIC thresher PRIVATE thresher_flags ${THRESHER_SQLITE} ${CMAKE_DL_LIBS} m)
target_compile_definitions(thresher_tools PUBLIC THRESHER_VERSION="${PROJECT_VERSION}")
file(GLOB constraint_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/constraints/*.toml)
thresher_embed(thresher_tools NAME BuiltinConstraintFile TYPE BuiltinFile
               HEADER tank/builtin_files.hpp FILES ${constraint_files})
file(GLOB season_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/seasons/*.toml)
thresher_embed(thresher_tools NAME BuiltinSeasonFile TYPE BuiltinFile
               HEADER tank/builtin_files.hpp FILES ${season_files})
# What every page of `thresher report` carries.
find_file(THRESHER_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js)
mark_as_advanced(THRESHER_CHART_JS)
if(NOT THRESHER_CHART_JS)
  message(FATAL_ERROR "chart.min.js (Chart.js 3) not found. Debian has it in libjs-chart.js.")
endif()
thresher_embed(thresher_tools NAME PageFile TYPE PageFile HEADER report/page_files.hpp
               FILES ${PROJECT_SOURCE_DIR}/src/report/page.css
                     ${PROJECT_SOURCE_DIR}/src/report/draw.js ${THRESHER_CHART_JS})

add_executable(thresher_cli ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
set_target_properties(thresher_cli PROPERTIES OUTPUT_NAME thresher)
target_link_libraries(thresher_cli PRIVATE thresher_tools thresher_flags)
if(NOT THRESHER_SANITIZE)
  target_link_options(thresher_cli PRIVATE -static-libstdc++ -static-libgcc)
endif()
