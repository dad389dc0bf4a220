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
# Hardening of what users run: checked copies, canaries on the stack, and tables of the linker that are read-only after
# the start. Debian's compilers make position-independent programs by default. A project above this one chooses its own.
# A sanitized build has sanitizers in their place.
add_library(manymeans_hardening INTERFACE)
if(PROJECT_IS_TOP_LEVEL AND NOT MANYMEANS_SANITIZE AND NOT MANYMEANS_COVERAGE)
  target_compile_options(
    manymeans_hardening
    INTERFACE
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2;-fstack-protector-strong>
  )
  target_link_options(manymeans_hardening INTERFACE LINKER:-z,relro,-z,now)
elseif(MANYMEANS_SANITIZE)
  target_compile_options(
    manymeans_hardening
    INTERFACE -fsanitize=${MANYMEANS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
  )
  target_link_options(manymeans_hardening INTERFACE -fsanitize=${MANYMEANS_SANITIZE})
endif()
target_link_libraries(manymeans_flags INTERFACE manymeans_hardening)

# manymeans_library_flags(target): how files of the library are compiled, in src/ and in product/. One compilation serves a
# static and a shared library: no macro says which.
function(manymeans_library_flags target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  if(MANYMEANS_COVERAGE)
    # Counts may be lost where threads meet; whether a line ran is not.
    target_compile_options(${target} PRIVATE --coverage -fprofile-update=single -fno-inline -O1)
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON DEFINE_SYMBOL "")
endfunction()

# manymeans_sources(file...): adds files of the current folder to the library. Code that reads input checks the indices of
# standard containers. Arithmetic over rows does not: its indices come from the engine, and the checks would cost time.
function(manymeans_sources)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(manymeans PRIVATE ${ARGN})
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/src/(io|comm|report|backend/remote)(/|$)")
    set_property(
      SOURCE ${ARGN} TARGET_DIRECTORY manymeans
      APPEND
      PROPERTY COMPILE_DEFINITIONS $<$<CONFIG:Release>:_GLIBCXX_ASSERTIONS>
    )
  endif()
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
    PROPERTIES
      COMPILE_OPTIONS
        "${ARGN};-fno-stack-protector" # a kernel has no buffer of input
  )
endfunction()

# manymeans_write_registry(kind...): writes registry/<kind>.inc for the folders to include.
function(manymeans_write_registry)
  foreach(kind ${ARGN})
    get_property(lines GLOBAL PROPERTY MANYMEANS_REGISTRY_${kind})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/registry/${kind}.inc CONTENT "${lines}" @ONLY)
  endforeach()
endfunction()
