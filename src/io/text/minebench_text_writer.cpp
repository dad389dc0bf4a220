// The text files of NU-MineBench: the number of the row, from 1, then its coordinates, with blanks.
#include "io/text/text_rows.h"

namespace manymeans {

Writer make_minebench_text_writer() {
  return {"NU-MineBench text: the number of the row, then its values", {}, [](const Table& table, OutputFile& file) {
            write_text_rows(table, ' ', true, file);
          }};
}

}  // namespace manymeans
