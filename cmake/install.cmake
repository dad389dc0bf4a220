# `cmake --install`, and Debian packages by CPack: the program, and for developers library, headers, CMake and pkg-config
# files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/manymeans)

if(MANYMEANS_ARROW_OF_PYTHON)
  list(GET MANYMEANS_ARROW_LIBRARIES 0 arrow)
  get_filename_component(arrow_folder ${arrow} DIRECTORY)
endif()

if(MANYMEANS_CLI)
  # The program finds a shared library where it was installed to, and where both were moved to. The build has the same
  # path, since CMake pads a path that it replaces later with colons: an empty element names the current folder.
  set(search_path "")
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH to_library ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    list(APPEND search_path $ORIGIN/${to_library})
    set_target_properties(manymeans PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/${to_library})
  endif()
  if(MANYMEANS_ARROW_OF_PYTHON) # a build for tests
    list(APPEND search_path ${arrow_folder})
  endif()
  if(TARGET MPI::MPI_CXX AND MPI_CXX_LIBRARIES)
    list(GET MPI_CXX_LIBRARIES 0 mpi)
    get_filename_component(mpi_folder ${mpi} DIRECTORY)
    if(NOT mpi_folder MATCHES "^/(usr/)?lib") # one that the loader does not look through by itself
      list(APPEND search_path ${mpi_folder})
    endif()
  endif()
  set_target_properties(manymeans_cli PROPERTIES INSTALL_RPATH "${search_path}" BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS manymeans_cli RUNTIME COMPONENT program)
  include(cmake/completion.cmake)
endif()

set_target_properties(
  manymeans
  PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
)
install(
  TARGETS manymeans
  EXPORT manymeans_targets
  LIBRARY COMPONENT program NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/include/manymeans
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development
  FILES_MATCHING
  PATTERN *.h
)

# What a static library needs where it is linked; a shared one has it already.
get_target_property(type manymeans TYPE)
set(MANYMEANS_FIND_DEPENDENCIES "find_dependency(Threads)")
set(libraries -pthread)
if(TARGET manymeans::hdf5)
  list(APPEND libraries ${MANYMEANS_HDF5_LIBRARY})
endif()
if(MANYMEANS_LIBDEFLATE AND MANYMEANS_LIBDEFLATE_LIBRARY)
  list(APPEND libraries ${MANYMEANS_LIBDEFLATE_LIBRARY})
endif()
if(MANYMEANS_ARROW_INCLUDES)
  list(APPEND libraries ${MANYMEANS_ARROW_LIBRARIES})
  if(MANYMEANS_ARROW_OF_PYTHON) # these lie where no linker looks
    list(APPEND libraries -Wl,-rpath,${arrow_folder})
  endif()
endif()
if(MANYMEANS_CUDA)
  string(APPEND MANYMEANS_FIND_DEPENDENCIES "\nfind_dependency(CUDAToolkit)")
  list(APPEND libraries ${CUDA_cudart_static_LIBRARY} -ldl -lrt)
endif()
string(REPLACE ";" " " libraries "${libraries}")
if(type STREQUAL "STATIC_LIBRARY")
  string(APPEND MANYMEANS_FIND_DEPENDENCIES "\nfind_dependency(fmt)\nfind_dependency(ZLIB)")
  if(TARGET manymeans::hdf5)
    string(APPEND MANYMEANS_FIND_DEPENDENCIES "\ninclude(\${CMAKE_CURRENT_LIST_DIR}/manymeans-hdf5.cmake)")
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/manymeans-hdf5.cmake DESTINATION ${cmake_folder} COMPONENT development)
  endif()
  # Public, since there is no other library to link: `pkg-config --libs` works with and without --static.
  set(MANYMEANS_PC_REQUIRES Requires)
  set(MANYMEANS_PC_LIBS " ${libraries}")
else()
  set(MANYMEANS_PC_REQUIRES Requires.private)
  set(MANYMEANS_PC_LIBS_PRIVATE " ${libraries}")
endif()

install(
  EXPORT manymeans_targets
  FILE manymeans-targets.cmake
  NAMESPACE manymeans::
  DESTINATION ${cmake_folder}
  COMPONENT development
)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/manymeans-config.cmake.in
  ${PROJECT_BINARY_DIR}/generated/manymeans-config.cmake
  INSTALL_DESTINATION ${cmake_folder}
)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/generated/manymeans-config-version.cmake
  COMPATIBILITY
    SameMinorVersion # before 1.0 a minor version may change anything
)
install(
  FILES
    ${PROJECT_BINARY_DIR}/generated/manymeans-config.cmake
    ${PROJECT_BINARY_DIR}/generated/manymeans-config-version.cmake
  DESTINATION ${cmake_folder}
  COMPONENT development
)

# Relative to where the file lies, so that an installed folder may be moved.
set(MANYMEANS_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" MANYMEANS_PC_PREFIX "\${pcfiledir}/${up}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/manymeans.pc.in ${PROJECT_BINARY_DIR}/generated/manymeans.pc @ONLY)
install(
  FILES ${PROJECT_BINARY_DIR}/generated/manymeans.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development
)

# Debian's place for licences.
foreach(package_and_component manymeans.program libmanymeans-dev.development)
  string(REPLACE "." ";" pair ${package_and_component})
  list(GET pair 0 package)
  list(GET pair 1 component)
  install(
    FILES ${PROJECT_SOURCE_DIR}/LICENSE
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}
    COMPONENT ${component}
    RENAME copyright
  )
endforeach()

if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_CONTACT "the manymeans developers")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_COMPONENTS_ALL program development)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION math)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME manymeans)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libzstd1, liblzma5, libbz2-1.0") # opened, not linked
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmanymeans-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(
    CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libfmt-dev, zlib1g-dev, libhdf5-dev, libdeflate-dev, libzstd1, liblzma5, libbz2-1.0"
  )
  set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "The program manymeans.")
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The C++ library, its headers, and what CMake and pkg-config need.")
  include(CPack)
endif()
