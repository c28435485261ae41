# Installs the build in BUILD_DIR under a prefix of its own, moves it, then configures, builds and runs the
# consumers beside this script against nothing but that prefix.
#
#   cmake -DBUILD_DIR=... -DGENERATOR=... -DCOMPILER=... -DC_COMPILER=... -P check.cmake
set(check_dir ${BUILD_DIR}/install_check)
set(prefix ${check_dir}/moved)
file(REMOVE_RECURSE ${check_dir})

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# build_and_run(FOLDER OPTIONS... PROGRAMS program...)
function(build_and_run folder)
  cmake_parse_arguments(arg "" "" "PROGRAMS" ${ARGN})
  get_filename_component(name ${folder} NAME)
  step(${CMAKE_COMMAND} -S ${folder} -B ${check_dir}/${name} -G ${GENERATOR}
       -DCMAKE_C_COMPILER=${C_COMPILER} ${arg_UNPARSED_ARGUMENTS} -DCMAKE_PREFIX_PATH=${prefix})
  step(${CMAKE_COMMAND} --build ${check_dir}/${name})
  foreach(program IN LISTS arg_PROGRAMS)
    step(${check_dir}/${name}/${program})
  endforeach()
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${check_dir}/prefix)
file(RENAME ${check_dir}/prefix ${prefix})
build_and_run(${CMAKE_CURRENT_LIST_DIR} -DCMAKE_CXX_COMPILER=${COMPILER}
              PROGRAMS consumer consumer_shared consumer_c)
build_and_run(${CMAKE_CURRENT_LIST_DIR}/c_only PROGRAMS c_only_thresher c_only_shared)
step(${prefix}/bin/thresher --help)

# What make and meson go by.
find_program(PKG_CONFIG NAMES pkgconf pkg-config)
if(NOT PKG_CONFIG)
  message("no pkg-config here: thresher.pc is not tried")
  return()
endif()
file(GLOB_RECURSE pc_file ${prefix}/*/thresher.pc)
get_filename_component(pc_dir ${pc_file} DIRECTORY)
get_filename_component(lib_dir ${pc_dir} DIRECTORY)
foreach(kind "" "--static")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_dir}
                          ${PKG_CONFIG} --cflags --libs ${kind} thresher
                  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_dir}
                          ${PKG_CONFIG} --modversion thresher
                  OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  if(kind)
    list(TRANSFORM flags REPLACE "^-lthresher$" "-l:libthresher.a")
  endif()
  step(${C_COMPILER} ${CMAKE_CURRENT_LIST_DIR}/consumer.c -DPACKAGE_VERSION="${version}"
       -o ${check_dir}/by_pkg_config${kind} ${flags} -Wl,-rpath,${lib_dir})
  step(${check_dir}/by_pkg_config${kind})
endforeach()
