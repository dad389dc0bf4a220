// Pages of memory and of mapped files.
#pragma once

#include <cstddef>

namespace manymeans {

/// Asks for huge pages here. Linux only: elsewhere, and where the system refuses, this costs only speed.
void want_huge_pages(const void* data, size_t bytes) noexcept;
/// Asks the system to map these bytes by small pages only, so that few come with one that is touched. Linux only.
void map_small_pages(const void* data, size_t bytes) noexcept;
/// Asks the system to begin reading these bytes of a mapped file. Returns at once.
void fetch_ahead(const void* data, size_t bytes) noexcept;

/// Takes all of the disk space that a file of this size needs. Returns an error number, or 0.
int take_space(int file, size_t bytes);

/// Changes the size of a shared mapping of the whole file for reading and writing. Returns its new address, or
/// MAP_FAILED with errno: then the old mapping stays.
void* remap_file(int file, void* data, size_t size, size_t new_size);

/// Returns whether every page of the range belongs to a file: a shared mapping, or one that cannot be written and never
/// was. Then freeing them loses nothing. Reads /proc/self/smaps; false where that cannot be done.
bool lies_in_file(const void* data, size_t bytes);

}  // namespace manymeans
