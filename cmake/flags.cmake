# Flags every target of ours is built with, gathered in one interface target.
add_library(thresher_flags INTERFACE)
target_include_directories(thresher_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(thresher_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(THRESHER_WERROR)
  target_compile_options(thresher_flags INTERFACE -Werror)
endif()
# Debian's fmt ships as a shared library; header-only keeps our binary copyable.
target_compile_definitions(thresher_flags INTERFACE FMT_HEADER_ONLY)
if(THRESHER_SANITIZE)
  add_compile_options(-fsanitize=${THRESHER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${THRESHER_SANITIZE})
endif()
