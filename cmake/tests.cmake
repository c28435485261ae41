# Everything CTest runs. A test that cannot run here is reported as skipped, never as passed:
# gtest_discover_tests turns GTEST_SKIP into that, scripts exit with 77.
find_package(GTest REQUIRED)
include(GoogleTest)

file(GLOB support_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
add_library(test_support STATIC ${support_sources})
target_include_directories(test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(test_support PUBLIC thresher thresher_flags)
# Tests are compiled more often than run.
target_compile_options(test_support PUBLIC $<$<CONFIG:Release>:-Og>)

# One test binary per folder of tests/, each test case its own CTest entry. Filters of GTest's name cases that
# nothing else runs beside (`alone`), and those that take long and are begun first (`first`).
function(thresher_test_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cpp)
  if(THRESHER_SANITIZE AND sanitizers_without)
    list(FILTER sources EXCLUDE REGEX ${sanitizers_without})
  endif()
  add_executable(${name}_tests ${sources})
  target_compile_definitions(${name}_tests PRIVATE
    THRESHER_SOURCE_DIR="${PROJECT_SOURCE_DIR}" THRESHER_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name}_tests PRIVATE test_support ${ARGN} GTest::gtest_main)
  thresher_compile_together(${name}_tests)
  # Listing the cases runs the binary. Doing that when CTest starts, not when the binary is linked,
  # keeps a crash at start-up a failed test and lets ./run choose the process's surroundings.
  set(discover TEST_PREFIX ${name}. NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120)
  set(apart)
  if(alone)
    gtest_discover_tests(${name}_tests ${discover} TEST_LIST ${name}_alone TEST_FILTER ${alone}
                         PROPERTIES RUN_SERIAL TRUE)
    list(APPEND apart ${alone})
  endif()
  if(first)
    gtest_discover_tests(${name}_tests ${discover} TEST_LIST ${name}_first TEST_FILTER ${first}
                         PROPERTIES COST 100)
    list(APPEND apart ${first})
  endif()
  if(apart)
    list(JOIN apart : apart)
    list(APPEND discover TEST_FILTER -${apart})
  endif()
  gtest_discover_tests(${name}_tests ${discover})
endfunction()

thresher_test_folder(nvfp4)
thresher_test_folder(gemm)
thresher_test_folder(cpu)
thresher_test_folder(engine)
thresher_test_folder(checkpoint)
thresher_test_folder(moe)
target_sources(moe_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests/moe/layer_scene.cpp)
thresher_test_folder(digest)
thresher_test_folder(emulator)
# Kernels that tests instantiate themselves, in many shapes and knobs, take a sanitizer long; it reads the same kernels,
# of all types, in emulated_tests and behind the engine.
set(sanitizers_without "/(gemm_shapes|gemm_knobs|cpu_agreement|small_gpus)_test.cpp$")
set(first "*Compile*")
thresher_test_folder(gpu)
target_sources(gpu_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests/gpu/clean_kernels.cpp)
unset(first)
unset(sanitizers_without)
thresher_test_folder(emulated)
# Leaves out every word of the kernels that orders something, to see who notices (docs/emulator.md).
if(NOT THRESHER_SANITIZE)
  file(GLOB mutation_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/emulated/mutations/*.cpp)
  add_executable(kernel_mutations ${mutation_sources} ${PROJECT_SOURCE_DIR}/tests/moe/layer_scene.cpp)
  target_link_libraries(kernel_mutations PRIVATE test_support)
  target_compile_options(kernel_mutations PRIVATE -ffp-contract=off)
  add_test(NAME emulated.mutations COMMAND kernel_mutations --quick
           ${PROJECT_SOURCE_DIR}/docs/emulator.md ${PROJECT_SOURCE_DIR})
  set_tests_properties(emulated.mutations PROPERTIES PROCESSORS 2 COST 100)
endif()
# Tests instantiate kernels too, whose sums must not be contracted.
foreach(target emulator_tests gpu_tests emulated_tests)
  target_compile_options(${target} PRIVATE -ffp-contract=off)
endforeach()
# Where pip may have put an NVRTC.
target_compile_definitions(gpu_tests PRIVATE THRESHER_VENV_DIR="${PROJECT_SOURCE_DIR}/build/venv")
# On a machine with a GPU: the run-time layer and the engine for real. They need nothing but
# themselves; `thresher verify --backend gpu` is the test of the kernels.
if(NOT THRESHER_SANITIZE)
  foreach(name smoke copies engine moe)
    add_executable(gpu_${name} ${PROJECT_SOURCE_DIR}/tests/gpu/${name}_main.cpp)
    target_link_libraries(gpu_${name} PRIVATE test_support)
    target_link_options(gpu_${name} PRIVATE -static-libstdc++ -static-libgcc)
    add_test(NAME gpu.${name} COMMAND gpu_${name})
    set_tests_properties(gpu.${name} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
  target_sources(gpu_moe PRIVATE ${PROJECT_SOURCE_DIR}/tests/moe/layer_scene.cpp)
endif()
if(THRESHER_TOOLS)
  thresher_test_folder(measure thresher_tools)
  # Their verdicts are a matter of time.
  set(alone FasterThanLight SlowCallsLoseWhatTheMedianGains BurningWhileIdleDoesNotPay)
  list(TRANSFORM alone PREPEND CheatsThatNeedMore.)
  list(JOIN alone : alone)
  thresher_test_folder(referee thresher_tools)
  unset(alone)
  thresher_test_folder(tune thresher_tools)
  thresher_test_folder(tank thresher_tools)
  thresher_test_folder(cluster thresher_tools)
  thresher_test_folder(report thresher_tools)
  # They wait more than they work.
  set(first Killed.*:Interrupted.*)
  thresher_test_folder(cli thresher_tools)
  unset(first)
  thresher_test_folder(bench thresher_tools)
  foreach(target bench_tests tank_tests)
    target_compile_definitions(${target} PRIVATE
                               THRESHER_VENV_DIR="${PROJECT_SOURCE_DIR}/build/venv")
  endforeach()
  # What peers in Python do on a GPU, on the CPU, where torch is.
  if(NOT THRESHER_SANITIZE)
    add_test(NAME bench.device_programs
             COMMAND ${CMAKE_COMMAND} -E env
                     --modify PATH=path_list_prepend:${PROJECT_SOURCE_DIR}/build/venv/bin
                     python3 -B ${PROJECT_SOURCE_DIR}/tests/bench/device_programs_check.py)
    set_tests_properties(bench.device_programs PROPERTIES SKIP_RETURN_CODE 77)
  endif()
  # The referee on a machine with a GPU: honest contestants pass, cheats lose by their check.
  if(NOT THRESHER_SANITIZE)
    add_executable(gpu_referee ${PROJECT_SOURCE_DIR}/tests/referee/gpu_referee_main.cpp)
    target_include_directories(gpu_referee PRIVATE ${PROJECT_SOURCE_DIR}/tests/referee)
    target_compile_definitions(gpu_referee PRIVATE
      THRESHER_SOURCE_DIR="${PROJECT_SOURCE_DIR}" THRESHER_BINARY_DIR="${PROJECT_BINARY_DIR}")
    target_link_libraries(gpu_referee PRIVATE test_support thresher_tools)
    target_link_options(gpu_referee PRIVATE -static-libstdc++ -static-libgcc)
    add_test(NAME referee.gpu COMMAND gpu_referee $<TARGET_FILE:thresher_cli> ${PROJECT_SOURCE_DIR})
    set_tests_properties(referee.gpu PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
  endif()
  # The same tests where version 2 of the kernel's groups has all controllers: in a virtual machine, with the kernel
  # that THRESHER_KERNEL names.
  if(NOT THRESHER_SANITIZE)
    add_test(NAME referee.cgroup2
             COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tests/referee/cgroup2_machine.py
                     $<TARGET_FILE:thresher_cli> $<TARGET_FILE:referee_tests>)
    set_tests_properties(referee.cgroup2 PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
  endif()
  # These start the command itself.
  add_dependencies(cli_tests thresher_cli)
  add_dependencies(referee_tests thresher_cli)
  add_dependencies(tank_tests thresher_cli)
endif()

# Seasons on a Slurm that the test starts itself, where it can. Its nodes measure nothing, and wait most of the time.
if(THRESHER_TOOLS AND NOT THRESHER_SANITIZE)
  add_test(NAME cluster.slurm
           COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tests/cluster/slurm_season.py
                   $<TARGET_FILE:thresher_cli>)
  set_tests_properties(cluster.slurm PROPERTIES SKIP_RETURN_CODE 77 COST 1000)
endif()

# Our number formats against somebody else's. The interpreter is looked up when the test runs, so
# that the packages ./run puts into build/venv count at once. A sanitizer has nothing to see in scripts.
if(NOT THRESHER_SANITIZE)
  add_executable(dump_encodings ${PROJECT_SOURCE_DIR}/tests/nvfp4/dump_encodings.cpp)
  target_link_libraries(dump_encodings PRIVATE thresher thresher_flags)
  add_test(NAME nvfp4.ml_dtypes
           COMMAND ${CMAKE_COMMAND} -E env
                   --modify PATH=path_list_prepend:${PROJECT_SOURCE_DIR}/build/venv/bin
                   python3 ${PROJECT_SOURCE_DIR}/tests/nvfp4/ml_dtypes_check.py
                   $<TARGET_FILE:dump_encodings>)
  set_tests_properties(nvfp4.ml_dtypes PROPERTIES SKIP_RETURN_CODE 77)
  # Likewise Blackwell's layouts.
  add_executable(dump_layouts ${PROJECT_SOURCE_DIR}/tests/gpu/sm100/dump_layouts.cpp)
  target_link_libraries(dump_layouts PRIVATE thresher thresher_flags)
  add_test(NAME gpu.cutlass_layouts
           COMMAND ${CMAKE_COMMAND} -E env
                   --modify PATH=path_list_prepend:${PROJECT_SOURCE_DIR}/build/venv/bin
                   python3 ${PROJECT_SOURCE_DIR}/tests/gpu/sm100/layouts_check.py
                   $<TARGET_FILE:dump_layouts>)
  set_tests_properties(gpu.cutlass_layouts PROPERTIES SKIP_RETURN_CODE 77)
endif()

# README's tables against the files they are made from.
add_test(NAME results.tables
         COMMAND python3 ${PROJECT_SOURCE_DIR}/results/tables.py --check)

# The report as a browser sees it. Chromium is looked up when the test runs.
if(THRESHER_TOOLS AND NOT THRESHER_SANITIZE)
  add_executable(write_sample_report ${PROJECT_SOURCE_DIR}/tests/report/write_sample_report.cpp)
  target_link_libraries(write_sample_report PRIVATE test_support thresher_tools)
  add_test(NAME report.browser
           COMMAND python3 ${PROJECT_SOURCE_DIR}/tests/report/browser_check.py
                   $<TARGET_FILE:write_sample_report>)
  set_tests_properties(report.browser PROPERTIES SKIP_RETURN_CODE 77)
endif()

# Readers of other people's bytes against mutations of good examples: thresher_fuzz(NAME LIBRARY EXAMPLE...).
set(fuzz_folder ${PROJECT_SOURCE_DIR}/tests/fuzz)
add_library(fuzz_driver OBJECT ${fuzz_folder}/driver.cpp ${fuzz_folder}/mutate.cpp)
target_include_directories(fuzz_driver PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(fuzz_driver PRIVATE thresher thresher_flags)

function(thresher_fuzz name library)
  add_executable(${name}_fuzz ${fuzz_folder}/${name}_fuzz.cpp $<TARGET_OBJECTS:fuzz_driver>)
  target_include_directories(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name}_fuzz PRIVATE ${library} thresher_flags)
  add_test(NAME fuzz.${name} COMMAND ${name}_fuzz --seconds ${THRESHER_FUZZ_SECONDS} ${ARGN})
endfunction()

thresher_fuzz(suite thresher ${suite_files})
file(GLOB checkpoint_examples CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/tests/fuzz/checkpoint_examples/*.json)
thresher_fuzz(checkpoint thresher ${checkpoint_examples})
if(THRESHER_TOOLS)
  file(GLOB pitch_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/pitches/*.toml
       ${PROJECT_SOURCE_DIR}/pitches/gpu/*.toml)
  thresher_fuzz(pitch thresher_tools ${pitch_files})
  file(GLOB plan_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/plan_examples/*.json)
  thresher_fuzz(plan thresher_tools ${plan_examples})
  thresher_fuzz(protocol thresher_tools ${PROJECT_SOURCE_DIR}/tests/fuzz/protocol_lines.txt)
  thresher_fuzz(cuda_launches thresher_tools ${PROJECT_SOURCE_DIR}/tests/fuzz/cuda_expressions.txt)
endif()

include(cmake/house.cmake)

# Examples see what a user sees: the library and its public headers.
file(GLOB examples CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/examples/*.cpp ${PROJECT_SOURCE_DIR}/examples/*.c)
foreach(source IN LISTS examples)
  get_filename_component(stem ${source} NAME_WE)
  if(source MATCHES "\\.c$" AND EXISTS ${PROJECT_SOURCE_DIR}/examples/${stem}.cpp)
    set(stem ${stem}_c)
  endif()
  add_executable(example_${stem} ${source})
  target_link_libraries(example_${stem} PRIVATE thresher thresher_warnings)
  add_test(NAME example.${stem} COMMAND example_${stem})
  add_test(NAME example.${stem}.emulator COMMAND example_${stem} emulator)
endforeach()

# The installed package, used by a project of its own. Not under a sanitizer: the consumer would need
# the same one, and nobody installs such a build.
if(THRESHER_INSTALL AND THRESHER_TOOLS AND NOT THRESHER_SANITIZE)
  add_test(NAME install.consumer
           COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${PROJECT_BINARY_DIR}
                   -DGENERATOR=${CMAKE_GENERATOR} -DCOMPILER=${CMAKE_CXX_COMPILER}
                   -DC_COMPILER=${CMAKE_C_COMPILER}
                   -P ${PROJECT_SOURCE_DIR}/tests/install/check.cmake)
endif()

# Entries for GPU MODE's arena: their Python under torch, their launches in the emulator, which stands where the
# driver would. Who has torch and nvcc is found out when the test runs.
if(THRESHER_TOOLS)
  thresher_test_folder(arena thresher_tools)
endif()
if(THRESHER_TOOLS AND NOT THRESHER_SANITIZE)
  add_library(arena_replay MODULE ${PROJECT_SOURCE_DIR}/tests/arena/replay.cpp)
  target_link_libraries(arena_replay PRIVATE thresher thresher_flags)
  target_compile_options(arena_replay PRIVATE -ffp-contract=off $<$<CONFIG:Release>:-O1>)
  add_test(NAME arena.entry
           COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tests/arena/entry_check.py
                   $<TARGET_FILE:thresher_cli> $<TARGET_FILE:arena_replay>)
  set_tests_properties(arena.entry PROPERTIES SKIP_RETURN_CODE 77)
endif()

# What the shared library shows is what the headers promise.
if(TARGET thresher_shared)
  add_test(NAME install.symbols
           COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tests/install/symbols.py ${CMAKE_NM}
                   $<TARGET_FILE:thresher_shared>)
endif()

# The Python package on the library just built. Who has torch or transformers is found out when the tests run.
if(TARGET thresher_shared)
  function(thresher_python_test name)
    add_test(NAME python.${name}
             COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tests/python/check.py
                     $<TARGET_FILE:thresher_shared> test_${name} ${ARGN})
    set_tests_properties(python.${name} PROPERTIES SKIP_RETURN_CODE 77)
  endfunction()
  thresher_python_test(c numpy>=1.23)
  thresher_python_test(numpy numpy>=1.23)
  thresher_python_test(gpu numpy>=1.23)
  thresher_python_test(moe numpy>=1.23)
  thresher_python_test(docs numpy>=1.23)
  thresher_python_test(torch torch>=2.11 numpy>=1.23)
  thresher_python_test(torch_gpu torch>=2.11 numpy>=1.23)
  thresher_python_test(transformers transformers>=5.17 torch>=2.11 numpy>=1.23)
  thresher_python_test(device_map accelerate>=1.1 transformers>=5.17 torch>=2.11 numpy>=1.23)
  thresher_python_test(vllm vllm==0.32)
  if(THRESHER_TOOLS)
    add_test(NAME python.wheel
             COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tests/python/wheel_check.py ${PROJECT_BINARY_DIR})
    set_tests_properties(python.wheel PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()
