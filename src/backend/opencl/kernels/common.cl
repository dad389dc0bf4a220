// What the kernels of all programs share: loops, labels, sums of 64 and 128 bits. CMake puts this behind
// kernel_types.h and before each program.
//
// -D options:
// CONTIGUOUS: each work-item takes neighbouring items, which is fast on processors, instead of items in steps of a group.
// The models of the same items follow each other, since groups run in the order of dimension 0.
// GROUP_ITEMS: work-items of a group; 1 with CONTIGUOUS.
//
// FOR_EACH_OF_GROUP goes through the items in steps of a group, whose work-items all have the same `i`, the first of theirs.
//
// What a work-item has counted in a loop is used before the next barrier, never behind it: PoCL 3.1 was seen to lose such
// a number.
#pragma OPENCL FP_CONTRACT OFF

// One name of two, of which either may be a macro: JOIN(float, WIDTH) is float8 where WIDTH is 8.
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)

// The lanes of a vector in another type. Of clang's own function PoCL makes an instruction, of convert_() one for each lane.
#if defined(__clang__) && GROUP_ITEMS == 1
#define CONVERTED(v, type) __builtin_convertvector(v, type)
#define INLINED __attribute__((always_inline))  // PoCL's compiler else passes vectors through memory
#else
#define CONVERTED(v, type) JOIN(convert_, type)(v)
#define INLINED
#endif

#if CONTIGUOUS
#define ITEM get_global_id(1)
#define ITEMS get_global_size(1)
#define MODEL get_global_id(0)
#define MODELS get_global_size(0)
#define GROUP_NUMBER get_group_id(1)
#define FOR_EACH(i, n)                                                                         \
  for (long i = (n) * (long)ITEM / (long)ITEMS,                       \
            i##_end = (n) * ((long)ITEM + 1) / (long)ITEMS;           \
       i < i##_end; ++i)
#define FOR_EACH_OF_GROUP(i, n) FOR_EACH(i, n)
#else
#define ITEM get_global_id(0)
#define ITEMS get_global_size(0)
#define MODEL get_global_id(1)
#define MODELS get_global_size(1)
#define GROUP_NUMBER get_group_id(0)
#define FOR_EACH(i, n) for (long i = ITEM; i < (n); i += ITEMS)
#define FOR_EACH_OF_GROUP(i, n) for (long i = ITEM - get_local_id(0); i < (n); i += ITEMS)
#endif

uint load_label(__global const uchar* labels, int width, long at) {
  if (width == 1) return labels[at];
  if (width == 2) return ((__global const ushort*)labels)[at];
  return ((__global const uint*)labels)[at];
}

void store_label(__global uchar* labels, int width, long at, uint label) {
  if (width == 1) {
    labels[at] = (uchar)label;
  } else if (width == 2) {
    ((__global ushort*)labels)[at] = (ushort)label;
  } else {
    ((__global uint*)labels)[at] = label;
  }
}

#if GROUP_ITEMS == 1
// Eight labels, of which `count` are there; the others are like the last of these.
ulong8 load_labels(__global const uchar* labels, int width, long at, int count) {
  if (count == 8) {
    if (width == 1) return CONVERTED(vload8(0, labels + at), ulong8);
    if (width == 2) return CONVERTED(vload8(0, (__global const ushort*)labels + at), ulong8);
    return CONVERTED(vload8(0, (__global const uint*)labels + at), ulong8);
  }
  ulong lane[8];
  for (int i = 0; i < 8; ++i) lane[i] = load_label(labels, width, at + min(i, count - 1));
  return vload8(0, lane);
}
#endif

// The lowest bit of a word that has one.
int lowest_bit(uint word) { return 31 - (int)clz(word & -word); }

// Two additions of 32 bits, with the carry, whatever the device has: GPUs add so in local memory, and make one of 64 bits
// of attempts that fail while others succeed.
void add_local(volatile __local ulong* to, ulong value) {
  volatile __local uint* words = (volatile __local uint*)to;
  const uint low = (uint)value;
  const uint before = atomic_add(words, low);
  atomic_add(words + 1, (uint)(value >> 32) + ((uint)(before + low) < before ? 1 : 0));
}

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

void add_global(volatile __global ulong* to, ulong value) { atom_add(to, value); }

// low:high += value mod 2^128; any order of any number of these gives the same sum.
void add_128(volatile __global ulong* low, volatile __global ulong* high, ulong value_low, ulong value_high) {
  const ulong before = atom_add(low, value_low);
  atom_add(high, value_high + (before + value_low < before ? 1 : 0));
}
