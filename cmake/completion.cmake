# Completions of shells and the man page, which the program prints itself; a program for another machine cannot.
if(NOT CMAKE_CROSSCOMPILING)
  set(completion_folder ${PROJECT_BINARY_DIR}/completion)
  set(completion_files)
  # manymeans_completion(what file folder): installs what `manymeans completion WHAT` prints.
  function(manymeans_completion what file folder)
    set(output ${completion_folder}/${file})
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${completion_folder}
      COMMAND manymeans_cli completion ${what} > ${output}
      DEPENDS manymeans_cli
      VERBATIM
    )
    install(FILES ${output} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/${folder} COMPONENT program)
    set(completion_files ${completion_files} ${output} PARENT_SCOPE)
  endfunction()
  manymeans_completion(bash manymeans bash-completion/completions)
  manymeans_completion(zsh _manymeans zsh/site-functions)
  manymeans_completion(fish manymeans.fish fish/vendor_completions.d)
  manymeans_completion(man manymeans.1 man/man1)
  add_custom_target(manymeans_completions ALL DEPENDS ${completion_files})
endif()
