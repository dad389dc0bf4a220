// Any structs of the Arrow C data interface: points or an Error, and every value that is promised can be read. Only
// what the interface cannot tell is as it should be: how many children there are, and how long the buffers are.
#include <manymeans/error.h>

#include "arrow_table.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

namespace {
using namespace manymeans;
using python::ArrowTable;

constexpr int64_t kMaxValues = 4096;
constexpr int kMaxChildren = 6, kMaxLevels = 4;

template <class T>
void release(T* what) {
  what->release = nullptr;
}

// The bytes of a value in the second buffer; 0: there is none.
int64_t value_bytes(std::string_view format) {
  constexpr std::string_view kFormats = "CcSseIifLlg";
  constexpr int kBytes[] = {1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 8};
  if (format == "+l" || format == "+L") return format == "+l" ? 4 : 8;
  const size_t at = format.size() == 1 ? kFormats.find(format) : std::string_view::npos;
  return at == std::string_view::npos ? 0 : kBytes[at];
}

class Producer {
 public:
  Producer(const uint8_t* data, size_t size) : bytes_(data, size) {}

  void fill(ArrowSchema& schema, int level = 0) {
    constexpr const char* kFormats[] = {"+s", "+l", "+L", "+w:2", "+w:1", "+w:-1", "+w:9223372036854775807",
                                        "e",  "f",  "g",  "C",    "c",    "S",     "s",
                                        "I",  "i",  "L",  "l",    "u",    "",      nullptr};
    schema.format = level == 0 && bytes_.ConsumeBool() ? "+s" : bytes_.PickValueInArray(kFormats);
    schema.name = bytes_.ConsumeBool() ? "x" : nullptr;
    schema.n_children = number();
    schema.children =
        children(schemas_, schema.n_children, level, [&](ArrowSchema& child, int64_t) { fill(child, level + 1); });
    if (bytes_.ConsumeIntegral<uint8_t>() < 8) schema.dictionary = &schema;
    schema.release = bytes_.ConsumeIntegral<uint8_t>() < 8 ? nullptr : release<ArrowSchema>;
  }

  void fill(ArrowArray& array, const ArrowSchema& schema, int level = 0) {
    const std::string_view format = schema.format == nullptr ? "" : schema.format;
    array.length = number();
    array.offset = bytes_.ConsumeBool() ? 0 : number();
    array.null_count = number();
    const bool small =
        array.length >= 0 && array.length <= kMaxValues && array.offset >= 0 && array.offset <= kMaxValues;
    const int64_t values = small ? array.length + array.offset : 0;
    const bool ends = format == "+l" || format == "+L";  // lists have an offset more than rows
    const std::vector<const void*> buffers = {small ? buffer((values + 7) / 8) : nullptr,
                                              small ? buffer((values + ends) * value_bytes(format)) : nullptr};
    array.buffers = pointers_.emplace_back(buffers).data();
    array.n_buffers = bytes_.ConsumeIntegral<uint8_t>() < 8        ? number()
                      : format.starts_with("+w") || format == "+s" ? 1
                                                                   : 2;
    array.n_children = bytes_.ConsumeIntegral<uint8_t>() < 8 ? number() : schema.n_children;
    array.children = children(arrays_, array.n_children, level, [&](ArrowArray& child, int64_t i) {
      const bool known = i < schema.n_children && schema.children != nullptr && schema.children[i] != nullptr;
      fill(child, known ? *schema.children[i] : schema, level + 1);
    });
    array.release = bytes_.ConsumeIntegral<uint8_t>() < 8 ? nullptr : release<ArrowArray>;
  }

 private:
  // Mostly a small one.
  int64_t number() {
    const auto first = bytes_.ConsumeIntegral<uint8_t>();
    return first < 248 ? first % 24 : bytes_.ConsumeIntegral<int64_t>();
  }

  // Exactly as long, not always aligned, and not always there.
  const void* buffer(int64_t size) {
    const auto choice = bytes_.ConsumeIntegral<uint8_t>();
    if (choice < 64) return nullptr;
    const size_t shift = choice == 255 ? 1 : 0;
    auto* memory = buffers_.emplace_back(new uint8_t[static_cast<size_t>(size) + shift]).get() + shift;
    std::memset(memory, choice, static_cast<size_t>(size));
    bytes_.ConsumeData(memory, static_cast<size_t>(size));
    return memory;
  }

  template <class T, class Fill>
  T** children(std::deque<T>& all, int64_t count, int level, const Fill& fill) {
    if (count < 1 || count > kMaxChildren || level == kMaxLevels) return nullptr;
    std::vector<void*>& found = children_.emplace_back();
    for (int64_t i = 0; i < count; ++i) {
      T* child = bytes_.ConsumeIntegral<uint8_t>() < 8 ? nullptr : &all.emplace_back();
      if (child != nullptr) fill(*child, i);
      found.push_back(child);
    }
    return reinterpret_cast<T**>(found.data());
  }

  FuzzedDataProvider bytes_;
  std::deque<ArrowSchema> schemas_;
  std::deque<ArrowArray> arrays_;
  std::deque<std::unique_ptr<uint8_t[]>> buffers_;
  std::deque<std::vector<const void*>> pointers_;
  std::deque<std::vector<void*>> children_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Producer producer(data + 1, size - 1);
  const auto table = std::make_shared<ArrowTable>();
  producer.fill(table->schema);
  for (int i = 0; i < data[0] % 4; ++i) producer.fill(table->chunks.emplace_back(), table->schema);
  try {
    const python::ArrowPoints points = points_of(table);
    const PointsView& view = points.view;
    if (view.n < 0 || view.d < 0 || reinterpret_cast<uintptr_t>(view.data) % size_of(view.type) != 0) std::abort();
    const auto* values = static_cast<const unsigned char*>(view.data);
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < view.bytes(); ++i) sum = static_cast<unsigned char>(sum + values[i]);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) std::abort();
  }
  return 0;
}
