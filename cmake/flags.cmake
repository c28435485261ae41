# Flags our targets are built with, gathered in interface targets.

# For code that may see the public headers only, such as the examples.
# Designated initialisers leave out on purpose what keeps its default.
add_library(thresher_warnings INTERFACE)
target_compile_options(thresher_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers)
# GCC 12 finds overlapping copies inside its own std::string.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(thresher_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(THRESHER_WERROR)
  target_compile_options(thresher_warnings INTERFACE -Werror)
endif()

# For everything under src/, tests/ and bench/.
add_library(thresher_flags INTERFACE)
target_include_directories(thresher_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(thresher_flags INTERFACE thresher_warnings)
# Assertions name files from the root of the house, wherever that stood when they were compiled.
target_compile_options(thresher_flags INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

# Other people's libraries come as headers only, fmt's code by src/fmt.cpp. Debian's own CMake targets
# for them would link shared libraries, and our binary must run where nothing can be installed.
function(thresher_require_header header debian_package)
  string(MAKE_C_IDENTIFIER "THRESHER_DIR_OF_${header}" directory)
  find_path(${directory} ${header})
  mark_as_advanced(${directory})
  if(NOT ${directory})
    message(FATAL_ERROR "<${header}> not found. Debian has it in ${debian_package}.")
  endif()
  target_include_directories(thresher_flags SYSTEM INTERFACE ${${directory}})
endfunction()

thresher_require_header(fmt/format.h libfmt-dev)
thresher_require_header(toml++/toml.h libtomlplusplus-dev)
thresher_require_header(nlohmann/json.hpp nlohmann-json3-dev)
if(THRESHER_TOOLS)
  thresher_require_header(CLI/CLI.hpp libcli11-dev)
endif()

# Sanitizers instrument every object of a process or are useless, so they are no target's choice.
if(THRESHER_SANITIZE)
  add_compile_options(
    -fsanitize=${THRESHER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${THRESHER_SANITIZE})
  # For the few places that must know; each compiler has its own way to say it.
  string(TOUPPER "${THRESHER_SANITIZE}" names)
  string(REPLACE "," ";" names "${names}")
  list(TRANSFORM names PREPEND THRESHER_SANITIZES_)
  add_compile_definitions(${names})
endif()

# Most of the time of compiling a file goes into its headers, so files are compiled together: those of a folder of src/, up to
# sixteen at a time, and those of a room of tests/ with its folders (of tests/gpu/ an architecture's), up to forty.
# Anonymous namespaces there share their names. Files with options of their own, such as the CPU's bodies, stay alone. To a
# linter, and to a compiler that does not optimise, headers are nearly all there is: for them ROOMS puts all of src/<room>/ together.
function(thresher_compile_together target)
  if(NOT THRESHER_TOGETHER)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source IN LISTS sources)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${source})
    get_filename_component(folder ${folder} DIRECTORY)
    if(THRESHER_TOGETHER STREQUAL ROOMS AND NOT folder MATCHES "^tests/")
      string(REGEX MATCH "^(src/)?[^/]+" room ${folder})
      string(MAKE_C_IDENTIFIER "${room}" group)
    else()
      set(most 16)
      if(folder MATCHES "^tests/(gpu/)?[^/]+")
        set(folder ${CMAKE_MATCH_0})
        set(most 40)
      endif()
      string(MAKE_C_IDENTIFIER "${folder}" folder)
      math(EXPR count_${folder} "0${count_${folder}} + 1")
      math(EXPR batch "(${count_${folder}} - 1) / ${most}")
      set(group ${folder}_${batch})
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
