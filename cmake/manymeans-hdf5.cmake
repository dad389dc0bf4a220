# The target manymeans::hdf5 where the HDF5 library is found. Installed too: programs that link a static library of
# manymeans link HDF5 with it.
find_path(MANYMEANS_HDF5_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(MANYMEANS_HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
mark_as_advanced(MANYMEANS_HDF5_INCLUDE MANYMEANS_HDF5_LIBRARY)
if(MANYMEANS_HDF5_INCLUDE AND MANYMEANS_HDF5_LIBRARY AND NOT TARGET manymeans::hdf5)
  add_library(manymeans::hdf5 UNKNOWN IMPORTED GLOBAL)
  set_target_properties(
    manymeans::hdf5
    PROPERTIES IMPORTED_LOCATION ${MANYMEANS_HDF5_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${MANYMEANS_HDF5_INCLUDE}
  )
endif()
