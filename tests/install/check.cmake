# Installs the build in BUILD_DIR under a prefix of its own, then configures, builds and runs the
# consumers beside this script against nothing but that prefix.
#
#   cmake -DBUILD_DIR=... -DGENERATOR=... -DCOMPILER=... -P check.cmake
set(prefix ${BUILD_DIR}/install_check/prefix)
set(consumer_dir ${BUILD_DIR}/install_check/consumer)
file(REMOVE_RECURSE ${BUILD_DIR}/install_check)

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${consumer_dir} -G ${GENERATOR}
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${prefix})
step(${CMAKE_COMMAND} --build ${consumer_dir})
step(${consumer_dir}/consumer)
step(${consumer_dir}/consumer_c)
step(${prefix}/bin/thresher --help)
