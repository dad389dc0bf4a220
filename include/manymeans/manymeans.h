// Everything: #include <manymeans/manymeans.h>
#pragma once

#include <manymeans/choose.h>
#include <manymeans/choose_columns.h>
#include <manymeans/compare.h>
#include <manymeans/consensus.h>
#include <manymeans/criteria.h>
#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/io.h>
#include <manymeans/label_table.h>
#include <manymeans/mapped_files.h>
#include <manymeans/models_by_k.h>
#include <manymeans/multiply.h>
#include <manymeans/options.h>
#include <manymeans/points.h>
#include <manymeans/regress.h>
#include <manymeans/report.h>
#include <manymeans/result.h>
#include <manymeans/row_shards.h>
#include <manymeans/search.h>
#include <manymeans/sparse.h>
#include <manymeans/sparse_file.h>
#include <manymeans/summary.h>
