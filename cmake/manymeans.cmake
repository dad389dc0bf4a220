# One line registers a thing: a backend, an instruction set, an initialisation, a reader, a test.

# Flags that the contract asks of every file: no contraction beyond the fma that is written, no fast-math.
add_library(manymeans_flags INTERFACE)
target_compile_options(
  manymeans_flags
  INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-frounding-math;-Wall;-Wextra;-Wshadow;-Wno-unknown-pragmas>
)
# g++ 12 warns of impossible overlaps inside std::string (GCC bug 105651), of impossible sizes inside std::vector, and,
# with -O3, of impossible writes inside fmt 9 and of members of temporaries that it takes for uninitialised.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(
    manymeans_flags
    INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-alloc-size-larger-than;-Wno-stringop-overflow;-Wno-maybe-uninitialized>
  )
endif()
if(MANYMEANS_SANITIZE)
  target_compile_options(
    manymeans_flags
    INTERFACE -fsanitize=${MANYMEANS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
  )
  target_link_options(manymeans_flags INTERFACE -fsanitize=${MANYMEANS_SANITIZE})
endif()

# manymeans_sources(file...): adds files of the current folder to the library.
function(manymeans_sources)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(manymeans PRIVATE ${ARGN})
endfunction()

# manymeans_register(kind name maker file...): `maker` is a function that the kind's folder declares;
# the table of that folder gets the line MANYMEANS_REGISTER(name, maker), in the order of registration.
function(manymeans_register kind name maker)
  manymeans_sources(${ARGN})
  set_property(GLOBAL APPEND_STRING PROPERTY MANYMEANS_REGISTRY_${kind} "MANYMEANS_REGISTER(\"${name}\", ${maker})\n")
endfunction()

# manymeans_isa(name maker file flags...): one kernel file, compiled for one instruction set.
function(manymeans_isa name maker file)
  manymeans_register(isa ${name} ${maker} ${file})
  set_source_files_properties(
    ${CMAKE_CURRENT_SOURCE_DIR}/${file}
    TARGET_DIRECTORY manymeans
    PROPERTIES COMPILE_OPTIONS "${ARGN}"
  )
endfunction()

# manymeans_write_registry(kind...): writes registry/<kind>.inc for the folders to include.
function(manymeans_write_registry)
  foreach(kind ${ARGN})
    get_property(lines GLOBAL PROPERTY MANYMEANS_REGISTRY_${kind})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/registry/${kind}.inc CONTENT "${lines}" @ONLY)
  endforeach()
endfunction()
