// One sample of a source as the bytes of its record, for RecordView.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <ffkit/converter/source.h>

namespace ffkit::testing {

inline std::vector<std::byte> record_of(const Source& source, size_t split, int64_t index,
                                        std::vector<SampleProblem>* problems = nullptr) {
  const Schema schema = source.schema();
  RecordBuilder builder(schema);
  SampleBuffers buffers;
  std::vector<std::byte> record;
  source.read(split, index, builder, buffers);
  builder.encode(record);
  if (problems != nullptr) *problems = buffers.problems();
  return record;
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// "'label' scalar i64 with column", ...
inline std::vector<std::string> fields_of(const Source& source) {
  std::vector<std::string> fields;
  for (const Field& field : source.schema().fields) fields.push_back(describe(field));
  return fields;
}

// The numbers of a tensor of Ts.
template <typename T>
std::vector<T> values_of(const TensorView& tensor) {
  if (tensor.dtype != dtype_of<T>()) return {};
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

}  // namespace ffkit::testing
