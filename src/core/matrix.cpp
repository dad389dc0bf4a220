#include <manymeans/points.h>

#include "core/aligned_buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace manymeans {

Matrix::Matrix(int64_t rows, int64_t columns, DataType type) : rows_(rows), columns_(columns), type_(type) {
  if (empty()) return;
  bytes_ = static_cast<std::byte*>(std::calloc(size_of_bytes(), 1));
  if (bytes_ == nullptr) throw std::bad_alloc();
}

Matrix Matrix::unwritten(int64_t rows, int64_t columns, DataType type) {
  Matrix matrix;
  matrix.rows_ = rows;
  matrix.columns_ = columns;
  matrix.type_ = type;
  if (!matrix.empty()) matrix.bytes_ = AlignedBuffer<std::byte>(matrix.size_of_bytes()).release();
  return matrix;
}

Matrix::Matrix(const Matrix& other) : Matrix(unwritten(other.rows_, other.columns_, other.type_)) {
  if (!empty()) std::memcpy(bytes_, other.bytes_, size_of_bytes());
}

Matrix& Matrix::operator=(const Matrix& other) {
  Matrix copy(other);
  swap(copy);
  return *this;
}

Matrix::~Matrix() {
  std::free(bytes_);
}

}  // namespace manymeans
