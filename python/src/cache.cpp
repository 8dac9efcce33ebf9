#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <ffkit/storage/cache.h>

#include "bindings.h"
#include "values.h"

namespace ffkit::python {
namespace {

nb::typed<nb::list, nb::tuple> sets_in(const std::filesystem::path& folder) {
  std::vector<CachedSet> sets;
  {
    const nb::gil_scoped_release release;
    sets = cached_sets(folder);
  }
  nb::list list;
  for (const CachedSet& set : sets) {
    list.append(nb::make_tuple(text_to_python(set.address), set.num_objects, set.num_bytes,
                               set.is_in_use, set.last_used));
  }
  return list;
}

}  // namespace

void bind_cache(nb::module_& module) {
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
