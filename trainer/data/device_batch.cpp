#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include <ffkit/trainer/device_batch.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

const DeviceField& find_field(const DeviceBatch& batch, std::string_view name) {
  for (const DeviceField& field : batch.fields) {
    if (field.name == name) return field;
  }
  std::vector<std::string> names;
  for (const DeviceField& field : batch.fields) names.push_back(field.name);
  throw error_of(ErrorCode::not_found, "the batch has no field '{}'; it has {}", name,
                 fmt::join(names, ", "));
}

}  // namespace

bool DeviceBatch::has(std::string_view name) const {
  for (const DeviceField& field : fields) {
    if (field.name == name) return true;
  }
  return false;
}

const at::Tensor& DeviceBatch::field(std::string_view name) const {
  return find_field(*this, name).values;
}

const at::Tensor& DeviceBatch::row_offsets(std::string_view name) const {
  const DeviceField& field = find_field(*this, name);
  if (!field.row_offsets.defined()) {
    throw error_of(ErrorCode::not_found,
                   "the batch's field '{}' has no rows; its samples are all of one shape", name);
  }
  return field.row_offsets;
}

void DeviceBatch::replace(std::string_view name, at::Tensor values) {
  const_cast<DeviceField&>(find_field(*this, name)).values = std::move(values);
}

}  // namespace ffkit
