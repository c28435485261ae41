# The emulator: runs the GPU's kernels on the CPU.
file(GLOB emulator_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/emulator/*.cpp)
add_library(thresher_emulator STATIC ${emulator_sources})
target_include_directories(thresher_emulator PUBLIC ${PROJECT_SOURCE_DIR}/src)
# Contracting a * b + c would make emulated kernels differ from those on the GPU.
target_compile_options(thresher_emulator PUBLIC -ffp-contract=off)
target_link_libraries(thresher_emulator PUBLIC thresher PRIVATE thresher_flags)
thresher_compile_together(thresher_emulator)

# The kernels, instantiated for it.
file(GLOB emulated_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/emulated/*.cpp)
add_library(thresher_emulated STATIC ${emulated_sources})
target_link_libraries(thresher_emulated PUBLIC thresher_emulator PRIVATE thresher_flags)
