# What goes into a wheel beside python/thresher/, when `pip install .` builds one: the shared library and the
# command. With -C cmake.define.THRESHER_BUILT=<folder> they are taken from a build that is there already.
set(THRESHER_BUILT "" CACHE PATH "A build folder to take libthresher.so and thresher from")
add_custom_target(wheel_files)
if(THRESHER_BUILT)
  set(wheel_library ${THRESHER_BUILT}/libthresher.so.${PROJECT_VERSION})
  set(wheel_command ${THRESHER_BUILT}/thresher)
else()
  add_dependencies(wheel_files thresher_shared thresher_cli)
  set(wheel_library $<TARGET_FILE:thresher_shared>)
  set(wheel_command $<TARGET_FILE:thresher_cli>)
endif()
# A wheel has no links, so the library goes by the one name that the package looks for.
install(FILES ${wheel_library} DESTINATION thresher RENAME libthresher.so COMPONENT python)
install(PROGRAMS ${wheel_command} DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
