// Rows of a table as lines of text. Numbers read back as the same bits.
#pragma once

#include "io/table/writer.h"

#include <string>

namespace manymeans {

/// A line for each row, its values separated by `delimiter`; with `numbered`, after the number of the row, from 1.
/// Every number has the fewest digits from which the readers find it again, also by way of binary64.
/// The names of the rows come before their values (Table::ids).
void write_text_rows(const Table& table, char delimiter, bool numbered, OutputFile& file);

/// A name, in quotes where a reader of text would take it apart.
std::string quoted(const std::string& name);

}  // namespace manymeans
