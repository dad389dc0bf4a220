#include "backend/opencl/linear/residual_rows.h"

#include "backend/two_nearest.h"

namespace manymeans::opencl {

ResidualRows::ResidualRows(const OpenClShared& shared, const device::SessionMemory& memory)
    : DeviceRows(shared, memory, linear_program(shared)),
      shared_(shared),
      queue_(memory.queue()),
      groups_(shared, queue_),
      two_nearest_(linear_program(shared), "two_nearest") {}

void ResidualRows::two_nearest(const device::Rows& rows, const device::Prototypes& among, Address out) {
  const Address groups = groups_.pack(among);
  two_nearest_(queue_, shared_.grid(rows.count), shared_.input.points.d, shared_.block_of(rows), among.k, rows.points,
               groups, out, static_cast<int64_t>(out.offset / sizeof(TwoNearest)));
}

ResidualSeedKernels::ResidualSeedKernels(const OpenClShared& shared, const device::Queue& queue)
    : shared_(shared),
      queue_(queue),
      groups_(shared, queue),
      lower_(linear_program(shared), "lower"),
      add_potentials_(linear_program(shared), "add_potentials") {}

void ResidualSeedKernels::lower(const device::Rows& rows, const device::Prototypes& centres, bool first,
                                Address least) {
  const Address groups = groups_.pack(centres);
  lower_(queue_, shared_.grid(rows.count), shared_.input.points.d, shared_.block_of(rows), centres.k,
         Int32{first ? 1 : 0}, rows.points, groups, least, static_cast<int64_t>(least.offset / sizeof(double)));
}

void ResidualSeedKernels::add_potentials(const device::Rows& rows, const Potentials& asked) {
  const SumFormat& format = asked.format;
  const Int32 top = format.shift - (format.limbs - 1) * format.bits;
  const device::Prototypes& candidates = asked.candidates;
  add_potentials_(queue_, shared_.grid(rows.count, candidates.k), shared_.input.points.d, shared_.block_of(rows), top,
                  Int32{format.bits}, rows.points, shared_.weights_of(rows), candidates.at,
                  first_value(shared_, candidates.at), asked.least,
                  static_cast<int64_t>(asked.least.offset / sizeof(double)), asked.sums,
                  static_cast<int64_t>(asked.sums.offset / sizeof(int64_t)));
}

}  // namespace manymeans::opencl
