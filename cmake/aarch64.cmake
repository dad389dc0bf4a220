# Toolchain: programs for 64-bit Arm Linux from a machine of another kind, where qemu runs them. ./dev cross aarch64
# unpacks the libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH tree)
set(CMAKE_FIND_ROOT_PATH ${tree}/build/aarch64-root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ZLIB_USE_STATIC_LIBS ON) # the link to the shared one leads out of the folder
