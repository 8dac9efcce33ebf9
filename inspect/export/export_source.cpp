#include "export/export_source.h"

#include <algorithm>
#include <utility>

#include "base/make_error.h"

namespace ffkit {

ExportSource::ExportSource(Dataset dataset, const std::vector<std::string>& fields)
    : dataset_(std::move(dataset)), schema_(dataset_.schema()) {
  if (fields.empty()) return;
  mapping_.stored = std::exchange(schema_, {});
  for (const std::string& name : fields) {
    if (std::ranges::count(fields, name) > 1) {
      throw error_of(ErrorCode::invalid_argument,
                     "--fields names '{}' twice; a field is exported once", name);
    }
    const size_t position = mapping_.stored.require(name);
    schema_.fields.push_back(mapping_.stored.fields[position]);
    mapping_.positions.push_back(static_cast<int64_t>(position));
  }
}

}  // namespace ffkit
