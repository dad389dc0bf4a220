# Everything the library is built from; `./dev packages` installs the Debian packages named here.
# Whoever links the library links these too, also from a folder above this one.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
find_package(Threads REQUIRED)

function(manymeans_need_package name package)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} not found: install ${package}, or run ./dev packages")
  endif()
endfunction()
manymeans_need_package(fmt libfmt-dev)
manymeans_need_package(ZLIB zlib1g-dev)

set(MANYMEANS_FMT fmt::fmt)
if(MANYMEANS_SELF_CONTAINED)
  set(MANYMEANS_FMT fmt::fmt-header-only)
  # Unused parts of libstdc++.a must go: one of them asks for a C library that is newer than all else does. libgcc_s stays
  # shared for the same reason; every Linux has it.
  add_link_options(-static-libstdc++ -Wl,--gc-sections -Wl,--exclude-libs,ALL)
  # src/core/os/old_glibc.cpp: what links here starts with glibc 2.28 too, where threads and dlopen() have libraries of their
  # own.
  include(CheckCXXSymbolExists)
  check_cxx_symbol_exists(__GLIBC__ features.h MANYMEANS_GLIBC)
  if(MANYMEANS_GLIBC AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$")
    set(MANYMEANS_OLD_GLIBC ON)
    set(
      MANYMEANS_OLD_FUNCTIONS
      pthread_create
      pthread_join
      pthread_mutex_trylock
      pthread_once
      pthread_sigmask
      dlopen
      dlsym
      dlerror
      exp
      exp2
      log
      log2
      pow
    )
    if(MANYMEANS_CUDA) # what CUDA's static runtime calls
      list(
        APPEND
        MANYMEANS_OLD_FUNCTIONS
        dlclose
        dlvsym
        pthread_condattr_setpshared
        pthread_detach
        pthread_getspecific
        pthread_key_create
        pthread_key_delete
        pthread_kill
        pthread_mutexattr_destroy
        pthread_mutexattr_init
        pthread_mutexattr_setpshared
        pthread_mutexattr_settype
        pthread_rwlock_destroy
        pthread_rwlock_init
        pthread_rwlock_rdlock
        pthread_rwlock_timedrdlock
        pthread_rwlock_timedwrlock
        pthread_rwlock_tryrdlock
        pthread_rwlock_trywrlock
        pthread_rwlock_unlock
        pthread_rwlock_wrlock
        pthread_rwlockattr_destroy
        pthread_rwlockattr_init
        pthread_rwlockattr_setpshared
        pthread_setspecific
        pthread_spin_destroy
        pthread_spin_init
        pthread_spin_lock
        pthread_spin_trylock
        pthread_spin_unlock
        sem_destroy
        sem_init
        sem_post
        sem_timedwait
        sem_trywait
        sem_wait
        shm_open
        shm_unlink
      )
      set(shared_memory -l:librt.so.1)
    endif()
    foreach(name IN ITEMS __libc_start_main dlmopen LISTS MANYMEANS_OLD_FUNCTIONS)
      add_link_options(-Wl,--wrap=${name})
    endforeach()
    add_link_options(
      -Wl,--push-state,--no-as-needed
      -l:libpthread.so.0
      -l:libdl.so.2
      ${shared_memory}
      -Wl,--pop-state
    )
  endif()
endif()

# Header-only libraries: looked for as headers, since not every release of them ships a CMake package.
function(manymeans_need_header variable header package)
  find_path(${variable} ${header})
  if(NOT ${variable})
    message(FATAL_ERROR "${header} not found: install ${package}, or run ./dev packages")
  endif()
endfunction()
manymeans_need_header(MANYMEANS_HWY_INCLUDE hwy/highway.h libhwy-dev)
manymeans_need_header(MANYMEANS_RANDOM123_INCLUDE Random123/philox.h librandom123-dev)
manymeans_need_header(MANYMEANS_XXHASH_INCLUDE xxhash.h libxxhash-dev)
manymeans_need_header(MANYMEANS_FAST_FLOAT_INCLUDE fast_float/fast_float.h libfast-float-dev)
manymeans_need_header(MANYMEANS_JSON_INCLUDE nlohmann/json.hpp nlohmann-json3-dev)
if(MANYMEANS_CLI OR MANYMEANS_FUZZ)
  manymeans_need_header(MANYMEANS_CLI11_INCLUDE CLI/CLI.hpp libcli11-dev)
endif()

# Where HDF5 is found, .h5 files can be read and written; where not, a stand-in says how. Where Arrow C++ is not found, a
# Python that has pyarrow is started for .parquet and .arrow files.
option(MANYMEANS_HDF5 "Read and write HDF5 files where the HDF5 library is found (libhdf5-dev)" ON)
option(MANYMEANS_ARROW "Read and write Parquet and Arrow files where Arrow C++ is found (by CMake, or in pyarrow)" ON)
set(MANYMEANS_ARROW_PYTHON "" CACHE FILEPATH "A Python whose pyarrow brings Arrow C++, where the system has none")
# A self-contained library links nothing that may be missing where it goes.
if(MANYMEANS_HDF5 AND NOT MANYMEANS_SELF_CONTAINED)
  include(cmake/manymeans-hdf5.cmake)
endif()
option(MANYMEANS_LIBDEFLATE "Inflate .gz files by libdeflate where it is found (libdeflate-dev), else by zlib" ON)
if(MANYMEANS_LIBDEFLATE AND NOT MANYMEANS_SELF_CONTAINED)
  find_path(MANYMEANS_LIBDEFLATE_INCLUDE libdeflate.h)
  find_library(MANYMEANS_LIBDEFLATE_LIBRARY deflate)
endif()
# These are not linked, so a self-contained library has them, too. Each has a stand-in.
option(MANYMEANS_UNPACKERS "Read .zst, .xz, .bz2 by libzstd-dev, liblzma-dev, libbz2-dev where they are found" ON)
find_path(MANYMEANS_ZSTD_INCLUDE zstd_errors.h)
find_path(MANYMEANS_XZ_INCLUDE lzma.h)
find_path(MANYMEANS_BZIP2_INCLUDE bzlib.h)
if(MANYMEANS_ARROW AND NOT MANYMEANS_SELF_CONTAINED)
  include(${CMAKE_CURRENT_LIST_DIR}/arrow.cmake)
endif()
# The program of a self-contained build may go where there is no MPI. The library knows nothing of it.
if(MANYMEANS_MPI AND NOT MANYMEANS_SELF_CONTAINED AND (MANYMEANS_CLI OR MANYMEANS_TESTS))
  set(MPI_CXX_SKIP_MPICXX ON) # the C++ interface, which MPI 3 has no longer
  find_package(MPI QUIET COMPONENTS CXX)
endif()
unset(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
