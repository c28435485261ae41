# The library, static and shared: one object library per folder of src/, so that the arrows of
# ARCHITECTURE.md stay visible, and both made of the same objects.
find_package(Threads REQUIRED)

string(REGEX MATCH "x86_64|AMD64" on_x86 ${CMAKE_SYSTEM_PROCESSOR})

function(thresher_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(NOT on_x86)
    list(FILTER sources EXCLUDE REGEX "_(avx2|avx512|avx512vnni|amx)\\.cpp$")
  endif()
  add_library(thresher_${name} OBJECT ${sources})
  target_include_directories(thresher_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(thresher_${name} PRIVATE thresher_flags)
  thresher_compile_together(thresher_${name})
endfunction()

add_library(thresher_fmt OBJECT ${PROJECT_SOURCE_DIR}/src/fmt.cpp)
target_link_libraries(thresher_fmt PRIVATE thresher_flags)
thresher_folder(digest)
thresher_folder(nvfp4)
thresher_folder(gemm)
# Nobody here catches what a comparison of NaNs would trap, and compilers make vectors without it.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/gemm/row_compare.cpp
                            PROPERTIES COMPILE_OPTIONS -fno-trapping-math)
thresher_folder(cpu)
# Contracting a * b + c where one machine can and another cannot would make their bits differ.
target_compile_options(thresher_nvfp4 PRIVATE -ffp-contract=off)
target_compile_options(thresher_cpu PRIVATE -ffp-contract=off)
thresher_folder(gpu)
thresher_folder(emulator)
thresher_folder(emulated)
thresher_folder(engine)
thresher_folder(checkpoint)
thresher_folder(moe)
# Contracting a * b + c would make emulated kernels differ from those on the GPU.
target_compile_options(thresher_emulator PRIVATE -ffp-contract=off)
target_compile_options(thresher_emulated PRIVATE -ffp-contract=off)
# Its fibres are most of what an emulated kernel does: -O3 doubles the time to compile and gains nothing.
target_compile_options(thresher_emulated PRIVATE $<$<CONFIG:Release>:-O1>)
# What sanitizers' builds compute most with; the rest is compiled more often than run.
if(THRESHER_SANITIZE)
  foreach(folder digest nvfp4 gemm cpu emulator)
    target_compile_options(thresher_${folder} PRIVATE -O1)
  endforeach()
endif()

# Each body of the CPU kernels, and of the quantiser, is one file compiled for its instruction set; nothing else may be, or
# the linker could pick an inline function that the machine at hand cannot execute.
if(on_x86)
  function(thresher_body_flags)
    cmake_parse_arguments(arg "" "ISA" "FLAGS" ${ARGN})
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cpu/*_${arg_ISA}.cpp
         ${PROJECT_SOURCE_DIR}/src/nvfp4/*_${arg_ISA}.cpp)
    set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${arg_FLAGS}")
  endfunction()
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mprefer-vector-width=512)
  # GCC 12 finds uninitialised values inside its own AVX-512 header.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(APPEND avx512 -Wno-maybe-uninitialized)
  endif()
  thresher_body_flags(ISA avx2 FLAGS ${avx2})
  thresher_body_flags(ISA avx512 FLAGS ${avx512})
  thresher_body_flags(ISA avx512vnni FLAGS ${avx512} -mavx512vnni)
  thresher_body_flags(ISA amx FLAGS ${avx512} -mamx-tile -mamx-bf16)
endif()

# Data files travel inside the binary: FILES become the table NAME of src/embedded_file.hpp in
# TARGET; cmake/embed_files.cmake says what BASE is.
function(thresher_embed target name)
  cmake_parse_arguments(arg "" "BASE" "FILES" ${ARGN})
  set(output ${PROJECT_BINARY_DIR}/embedded/${name}.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAME=${name} -DBASE=${arg_BASE}
            "-DFILES=${arg_FILES}" -P ${script}
    DEPENDS ${arg_FILES} ${script}
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

file(GLOB suite_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/suites/*.toml)
thresher_embed(thresher_gemm kSuiteFiles FILES ${suite_files})

# What NVRTC compiles: device code, and the plain headers that host and device share.
set(kernel_files)
foreach(folder hw hw/sm80 hw/sm90 hw/sm100 gemm/kernels layer/kernels sm80/kernels sm90/kernels
        sm100/kernels)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/gpu/${folder}/*.cuh
       ${PROJECT_SOURCE_DIR}/src/gpu/${folder}/*.hpp)
  list(APPEND kernel_files ${files})
endforeach()
list(FILTER kernel_files EXCLUDE REGEX "/emulated")
list(APPEND kernel_files ${PROJECT_SOURCE_DIR}/src/factor.hpp ${PROJECT_SOURCE_DIR}/src/rounding.hpp)
thresher_embed(thresher_gpu kKernelSources BASE ${PROJECT_SOURCE_DIR}/src FILES ${kernel_files})

add_library(thresher STATIC
  $<TARGET_OBJECTS:thresher_fmt> $<TARGET_OBJECTS:thresher_digest>
  $<TARGET_OBJECTS:thresher_nvfp4> $<TARGET_OBJECTS:thresher_gemm>
  $<TARGET_OBJECTS:thresher_cpu> $<TARGET_OBJECTS:thresher_gpu>
  $<TARGET_OBJECTS:thresher_emulator> $<TARGET_OBJECTS:thresher_emulated>
  $<TARGET_OBJECTS:thresher_engine> $<TARGET_OBJECTS:thresher_moe>
  $<TARGET_OBJECTS:thresher_checkpoint>)
add_library(thresher::thresher ALIAS thresher)
target_include_directories(thresher PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_compile_features(thresher PUBLIC cxx_std_20)
target_link_libraries(thresher PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
# A project in C alone links with its C compiler, which does not know what C++ needs.
set(cxx_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_ITEM cxx_runtime ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_DUPLICATES cxx_runtime)
target_link_libraries(thresher INTERFACE "$<$<LINK_LANGUAGE:C>:${cxx_runtime}>")

# cmake/exports.map says what it shows: the promise of include/thresher/, and nothing else. Before 1.0 a
# minor version may change the promise, so it is part of the name. Nobody can link a sanitizer's build into
# another program.
if(NOT THRESHER_SANITIZE)
  get_target_property(objects thresher SOURCES)
  add_library(thresher_shared SHARED ${objects})
  add_library(thresher::shared ALIAS thresher_shared)
  set_target_properties(thresher_shared PROPERTIES
    OUTPUT_NAME thresher EXPORT_NAME shared VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_include_directories(thresher_shared PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_compile_features(thresher_shared PUBLIC cxx_std_20)
  target_link_options(thresher_shared PRIVATE -Wl,--no-undefined
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_libraries(thresher_shared PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
endif()
