# The GPU backend, under construction. None of it needs CUDA to build, and the command does not reach it yet.

# Runs the kernels on the CPU.
file(GLOB emulator_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/emulator/*.cpp)
add_library(thresher_emulator STATIC ${emulator_sources})
target_include_directories(thresher_emulator PUBLIC ${PROJECT_SOURCE_DIR}/src)
# Contracting a * b + c would make emulated kernels differ from those on the GPU.
target_compile_options(thresher_emulator PUBLIC -ffp-contract=off)
target_link_libraries(thresher_emulator PUBLIC thresher PRIVATE thresher_flags)

# The driver and NVRTC opened at run time, the kernels, their packing and planning.
if(THRESHER_GPU)
  file(GLOB gpu_sources CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/src/gpu/*.cpp ${PROJECT_SOURCE_DIR}/src/gpu/kernels/*.cpp
       ${PROJECT_SOURCE_DIR}/src/gpu/pack/*.cpp)
  add_library(thresher_gpu STATIC ${gpu_sources})
  target_include_directories(thresher_gpu PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(thresher_gpu PUBLIC thresher ${CMAKE_DL_LIBS} PRIVATE thresher_flags)
  # What NVRTC compiles: device code, and the plain headers that host and device share.
  file(GLOB kernel_files CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/src/gpu/hw/*.cuh ${PROJECT_SOURCE_DIR}/src/gpu/hw/*.hpp
       ${PROJECT_SOURCE_DIR}/src/gpu/kernels/*.cuh ${PROJECT_SOURCE_DIR}/src/gpu/kernels/*.hpp)
  list(FILTER kernel_files EXCLUDE REGEX "emulated|plan|entry_source")
  thresher_embed(thresher_gpu NAME KernelSource TYPE gpu::KernelSource HEADER gpu/kernel_source.hpp
                 FILES ${kernel_files})
endif()
