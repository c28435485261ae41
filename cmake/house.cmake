# The rules of the house, one test each: tests/house/<rule>.py says what it asks. They are about the
# sources, which are the same under a sanitizer.
if(THRESHER_SANITIZE)
  return()
endif()

function(thresher_house_rule rule)
  add_test(NAME house.${rule}
           COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tests/house/${rule}.py ${ARGN})
endfunction()

thresher_house_rule(arrows)
thresher_house_rule(mirrors)
thresher_house_rule(paths)
thresher_house_rule(door)
thresher_house_rule(twins)
thresher_house_rule(presets)
thresher_house_rule(run_script)
thresher_house_rule(headers ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER})
thresher_house_rule(snippets ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER} $<TARGET_FILE:thresher>)
if(THRESHER_TOOLS)
  thresher_house_rule(commands $<TARGET_FILE:thresher_cli>)
  thresher_house_rule(tables $<TARGET_FILE:thresher_cli>)
  thresher_house_rule(pages $<TARGET_FILE:thresher_cli>)
  # It measures, a little, and waits for sandboxes.
  thresher_house_rule(readme $<TARGET_FILE:thresher_cli>)
  set_tests_properties(house.readme PROPERTIES PROCESSORS 2 COST 60)
endif()
