# Arrow C++ and Parquet: sets MANYMEANS_ARROW_INCLUDES and MANYMEANS_ARROW_LIBRARIES where both are found and fit this
# compiler. Debian has no package of them; Apache's and conda-forge's are found as the system's, and else those inside
# pyarrow, if MANYMEANS_ARROW_PYTHON names a Python that has it: for tests, as what is built then needs that pyarrow.
find_path(MANYMEANS_ARROW_INCLUDE parquet/arrow/reader.h)
find_library(MANYMEANS_ARROW_LIBRARY arrow)
find_library(MANYMEANS_PARQUET_LIBRARY parquet)
if(MANYMEANS_ARROW_INCLUDE AND MANYMEANS_ARROW_LIBRARY AND MANYMEANS_PARQUET_LIBRARY)
  set(MANYMEANS_ARROW_INCLUDES ${MANYMEANS_ARROW_INCLUDE})
  set(MANYMEANS_ARROW_LIBRARIES ${MANYMEANS_PARQUET_LIBRARY} ${MANYMEANS_ARROW_LIBRARY})
elseif(MANYMEANS_ARROW_PYTHON)
  execute_process(
    COMMAND
      ${MANYMEANS_ARROW_PYTHON} -c
      "import pyarrow as a; print(a.get_include(), a.get_library_dirs()[0], sep=';', end='')"
    OUTPUT_VARIABLE found
    RESULT_VARIABLE failed
    ERROR_QUIET
  )
  if(NOT failed)
    list(GET found 0 MANYMEANS_ARROW_INCLUDES)
    list(GET found 1 folder)
    # The wheel has no links libarrow.so, which find_library() would look for.
    file(GLOB MANYMEANS_ARROW_LIBRARIES ${folder}/libparquet.so.* ${folder}/libarrow.so.*)
    set(MANYMEANS_ARROW_OF_PYTHON ON)
  endif()
endif()

# Headers without their libraries, or libraries of another C++ standard library (its ABI before GCC 5), are of no use.
if(MANYMEANS_ARROW_INCLUDES)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES ${MANYMEANS_ARROW_INCLUDES})
  set(CMAKE_REQUIRED_LIBRARIES ${MANYMEANS_ARROW_LIBRARIES})
  set(CMAKE_REQUIRED_FLAGS -std=c++20)
  string(MD5 key "${MANYMEANS_ARROW_LIBRARIES}")
  check_cxx_source_compiles(
    "#include <arrow/api.h>
     #include <parquet/properties.h>
     int main() {
       return parquet::ReaderProperties().is_buffered_stream_enabled() + arrow::field(std::string(), arrow::null())->nullable();
     }"
    MANYMEANS_ARROW_FITS_${key}
  )
  if(NOT MANYMEANS_ARROW_FITS_${key})
    message(
      WARNING
      "The Arrow C++ that was found cannot be used by this compiler: Parquet and Arrow files are left to a Python"
    )
    unset(MANYMEANS_ARROW_INCLUDES)
    unset(MANYMEANS_ARROW_OF_PYTHON)
  endif()
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_FLAGS)
endif()
if(NOT MANYMEANS_ARROW_INCLUDES)
  message(STATUS "No Arrow C++: Parquet and Arrow files are read and written by a Python that has pyarrow")
endif()
