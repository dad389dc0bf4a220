// The extension module's parts: each adds its functions.
#pragma once

#include <nanobind/nanobind.h>

namespace manymeans::python {

void add_agreeing(nanobind::module_& module);
void add_batch_sums(nanobind::module_& module);
void add_comparing(nanobind::module_& module);
void add_multiplying(nanobind::module_& module);
void add_optimising(nanobind::module_& module);
void add_judging(nanobind::module_& module);
void add_reporting(nanobind::module_& module);
void add_fitting(nanobind::module_& module);
void add_fitting_each(nanobind::module_& module);
void add_fitting_tree(nanobind::module_& module);
void add_regressing(nanobind::module_& module);
void add_predicting(nanobind::module_& module);
void add_sharding(nanobind::module_& module);
void add_files(nanobind::module_& module);
void add_errors();

}  // namespace manymeans::python
