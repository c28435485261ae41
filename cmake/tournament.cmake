# What the tournament needs beyond its sources: SQLite, and files that travel inside the binary.

# The ledger's. The static archive where there is one, so that the binary can be copied.
thresher_require_header(sqlite3.h libsqlite3-dev)
find_library(THRESHER_SQLITE NAMES libsqlite3.a sqlite3 REQUIRED)
mark_as_advanced(THRESHER_SQLITE)
target_link_libraries(thresher_tools PRIVATE ${THRESHER_SQLITE})

file(GLOB constraint_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/constraints/*.toml)
thresher_embed(thresher_tools NAME BuiltinConstraintFile TYPE BuiltinFile
               HEADER tank/pitch/builtin_files.hpp FILES ${constraint_files})
file(GLOB season_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/seasons/*.toml)
thresher_embed(thresher_tools NAME BuiltinSeasonFile TYPE BuiltinFile
               HEADER tank/pitch/builtin_files.hpp FILES ${season_files})
# What every page of `thresher report` carries.
find_file(THRESHER_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js)
mark_as_advanced(THRESHER_CHART_JS)
if(NOT THRESHER_CHART_JS)
  message(FATAL_ERROR "chart.min.js (Chart.js 3) not found. Debian has it in libjs-chart.js.")
endif()
thresher_embed(thresher_tools NAME PageFile TYPE PageFile HEADER report/page_files.hpp
               FILES ${PROJECT_SOURCE_DIR}/src/report/page.css
                     ${PROJECT_SOURCE_DIR}/src/report/draw.js ${THRESHER_CHART_JS})
thresher_embed(thresher_tools NAME ContestantHeader TYPE ContestantHeader
               HEADER referee/contestant/build.hpp
               FILES ${PROJECT_SOURCE_DIR}/include/thresher/contestant.h
                     ${PROJECT_SOURCE_DIR}/include/thresher/contestant.cuh)
