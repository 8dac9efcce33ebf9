#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <ffkit/storage/cache.h>
#include <ffkit/storage/storage_options.h>

#include "bindings.h"
#include "values.h"

namespace ffkit::python {
namespace {

nb::typed<nb::list, nb::tuple> sets_in(const std::filesystem::path& folder) {
  nb::list list;
  for (const CachedSet& set : without_gil([&] { return cached_sets(folder); })) {
    list.append(nb::make_tuple(text_to_python(set.address), set.num_objects, set.num_bytes,
                               set.is_in_use, set.last_used));
  }
  return list;
}

void bind_storage_options(nb::module_& module) {
  using Values = std::map<std::string, std::string>;
  module.def("with_storage_options", [](const std::string& path, Values values) {
    return text_to_python(with_storage_options(path, {std::move(values)}).native());
  });
  module.def("without_storage_options", [](const std::string& path) {
    return text_to_python(without_storage_options(path).native());
  });
  module.def("storage_options_of",
             [](const std::string& path) { return storage_options_of(path).values; });
  module.def("share_storage_options", [](const std::string& source, const std::string& destination,
                                         Values values, Values source_values) {
    const auto [of_source, of_destination] =
        share_storage_options(source, destination, {std::move(values)}, {std::move(source_values)});
    return std::make_pair(of_source.values, of_destination.values);
  });
}

}  // namespace

void bind_cache(nb::module_& module) {
  bind_storage_options(module);
  module.def("cache_options", [] {
    const CacheOptions options = cache_options();
    return nb::make_tuple(text_to_python(options.folder.native()), options.max_bytes,
                          options.min_free_bytes);
  });
  module.def(
      "set_cache",
      [](const std::filesystem::path& folder, int64_t max_bytes, int64_t min_free_bytes) {
        set_cache({.folder = folder, .max_bytes = max_bytes, .min_free_bytes = min_free_bytes});
      },
      nb::arg("folder"), nb::arg("max_bytes"), nb::arg("min_free_bytes"),
      nb::call_guard<nb::gil_scoped_release>());
  module.def("cached_sets", &sets_in, nb::arg("folder"));
  module.def("clean_cache", &clean_cache, nb::arg("folder"), nb::arg("address"),
             nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace ffkit::python
