# What the tournament needs beyond its sources: SQLite, and files that travel inside the binary.

# The ledger's. The static archive where there is one, so that the binary can be copied.
thresher_require_header(sqlite3.h libsqlite3-dev)
find_library(THRESHER_SQLITE NAMES libsqlite3.a sqlite3 REQUIRED)
mark_as_advanced(THRESHER_SQLITE)
target_link_libraries(thresher_tools PRIVATE ${THRESHER_SQLITE})

file(GLOB constraint_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/constraints/*.toml)
thresher_embed(thresher_telling kConstraintFiles FILES ${constraint_files})
file(GLOB_RECURSE pitch_files CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/pitches/*.toml ${PROJECT_SOURCE_DIR}/pitches/*.py
     ${PROJECT_SOURCE_DIR}/pitches/*.c ${PROJECT_SOURCE_DIR}/pitches/*.cpp
     ${PROJECT_SOURCE_DIR}/pitches/*.cu)
thresher_embed(thresher_telling kPitchFiles BASE ${PROJECT_SOURCE_DIR}/pitches FILES ${pitch_files})
file(GLOB season_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/seasons/*.toml)
thresher_embed(thresher_telling kSeasonFiles FILES ${season_files})
# What was foretold of a B200, as it was sealed.
thresher_embed(thresher_telling kForecastFiles
               FILES ${PROJECT_SOURCE_DIR}/results/b200/forecasts.jsonl)
# What every page of `thresher report` carries.
thresher_embed(thresher_telling kPageFiles FILES ${PROJECT_SOURCE_DIR}/src/report/page.css)
thresher_embed(thresher_telling kContestantHeaders BASE ${PROJECT_SOURCE_DIR}/include
               FILES ${PROJECT_SOURCE_DIR}/include/thresher/contestant.h
                     ${PROJECT_SOURCE_DIR}/include/thresher/contestant.cuh)
