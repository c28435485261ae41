# One test binary per folder of tests/, each test case its own CTest entry.
find_package(GTest REQUIRED)
include(GoogleTest)

file(GLOB support_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)

function(thresher_test_folder name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_tests ${sources} ${support_sources})
  target_include_directories(${name}_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name}_tests PRIVATE
    THRESHER_SOURCE_DIR="${PROJECT_SOURCE_DIR}" THRESHER_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name}_tests PRIVATE ${ARGN} thresher_flags GTest::gtest_main)
  gtest_discover_tests(${name}_tests TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 120)
endfunction()

thresher_test_folder(nvfp4 thresher)
thresher_test_folder(gemm thresher)
thresher_test_folder(cpu thresher)
thresher_test_folder(engine thresher)
if(THRESHER_TOOLS)
  thresher_test_folder(referee thresher_tools)
  thresher_test_folder(cli thresher_tools)
endif()
