// Copies of data sets, and what interrupted work has left.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/converter/copy.h>
#include <ffkit/converter/leftovers.h>
#include <ffkit/converter/remove.h>

#include "base/printable.h"
#include "bindings.h"
#include "convert/sample_values.h"
#include "convert/watched.h"
#include "values.h"

namespace ffkit::python {
namespace {

namespace fs = std::filesystem;

nb::dict copy(const fs::path& from, const fs::path& to, std::vector<std::string> splits,
              int num_threads, bool resume, nb::object on_progress, nb::object on_note) {
  Watched watched(std::move(on_progress), std::move(on_note));
  const CopyOptions options{.splits = std::move(splits),
                            .num_threads = num_threads,
                            .resume = resume,
                            .cancel = watched.cancel(),
                            .progress = watched.progress(),
                            .note = watched.note(),
                            .command = {}};
  CopySummary summary;
  watched.run([&] { summary = copy_dataset(from, to, options); });
  nb::dict dict;
  dict["splits"] = nb::tuple(nb::cast(summary.splits));
  dict["num_shards"] = summary.num_shards;
  dict["num_records"] = summary.num_records;
  dict["file_bytes"] = summary.file_bytes;
  dict["num_equal_shards"] = summary.num_equal_shards;
  dict["num_copied_bytes"] = summary.num_copied_bytes;
  dict["seconds"] = summary.seconds;
  return dict;
}

constexpr EnumName<Leftover::Kind> kLeftoverNames[] = {{Leftover::Kind::shard, "shard"},
                                                       {Leftover::Kind::temporary, "temporary"},
                                                       {Leftover::Kind::upload, "upload"},
                                                       {Leftover::Kind::work, "work"},
                                                       {Leftover::Kind::marker, "marker"}};

// (found, others, number in manifests, notes), the first as tuples for Leftover.
nb::tuple leftovers_at(const fs::path& place) {
  const Leftovers leftovers = without_gil([&] { return find_leftovers(place); });
  nb::list found;
  for (const Leftover& leftover : leftovers.found) {
    found.append(nb::make_tuple(name_of(kLeftoverNames, leftover.kind),
                                text_to_python(without_marks(leftover.path.native())),
                                leftover.num_bytes, leftover.upload_id, leftover.since,
                                leftover.is_in_use));
  }
  nb::list others;
  for (const fs::path& other : leftovers.others)
    others.append(text_to_python(without_marks(other.native())));
  return nb::make_tuple(found, others, leftovers.num_in_manifests, leftovers.notes);
}

// (number, bytes) of what was removed.
nb::tuple remove_at(const fs::path& place, bool unfinished, nb::object on_note) {
  Watched watched(nb::none(), std::move(on_note));
  RemovedLeftovers removed;
  watched.run([&] { removed = remove_leftovers(place, unfinished, watched.note()); });
  return nb::make_tuple(removed.num_removed, removed.num_bytes);
}

// (summaries of splits, number of records, ids that were not found).
nb::tuple remove_ids(const fs::path& data, const fs::path& file, std::vector<std::string> ids,
                     bool is_file, nb::object on_note) {
  Watched watched(nb::none(), std::move(on_note));
  RemoveOptions options{.cancel = watched.cancel(), .note = watched.note()};
  if (is_file) {
    options.ids_file = file;
  } else {
    options.ids = std::move(ids);
  }
  RemoveSummary summary;
  watched.run([&] { summary = remove_records(data, options); });
  nb::list splits;
  for (const SplitSummary& split : summary.splits) splits.append(to_python(split));
  return nb::make_tuple(splits, summary.num_removed, summary.not_found);
}

}  // namespace

void bind_copy(nb::module_& module) {
  module.def("copy", &copy, nb::arg("source"), nb::arg("destination"), nb::arg("splits"),
             nb::arg("num_threads"), nb::arg("resume"), nb::arg("on_progress").none(),
             nb::arg("on_note").none());
  module.def("remove_records", &remove_ids, nb::arg("data"), nb::arg("file"), nb::arg("ids"),
             nb::arg("is_file"), nb::arg("on_note").none());
  module.def("find_leftovers", &leftovers_at, nb::arg("place"));
  module.def("remove_leftovers", &remove_at, nb::arg("place"), nb::arg("unfinished"),
             nb::arg("on_note").none());
}

}  // namespace ffkit::python
