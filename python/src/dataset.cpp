#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ffkit/base/machine.h>
#include <ffkit/format/content_sum.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/filter.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/loader/picture_sizes.h>

#include "base/printable.h"
#include "bindings.h"
#include "launch/job_place.h"
#include "values.h"

namespace ffkit::python {
namespace {

nb::typed<nb::dict, nb::str, nb::str> facts(const std::map<std::string, std::string>& values) {
  nb::dict dict;
  for (const auto& [key, value] : values) dict[text_to_python(key)] = text_to_python(value);
  return dict;
}

nb::typed<nb::dict, nb::str, nb::any> read_record(const Dataset& dataset, int64_t record_index) {
  std::vector<std::byte> bytes;
  without_gil([&] { dataset.read(record_index, bytes); });
  const Schema& schema = dataset.schema();
  const RecordView record(schema, bytes, dataset.name(record_index));
  nb::dict values;
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    values[text_to_python(schema.fields[i].name)] =
        value_to_python(schema.fields[i], record.field(i));
  }
  return values;
}

// A ContentSum; empty where the record's shard has none. `shards`: those of the shards so far.
nb::bytes kept_content(const Dataset& dataset, int64_t record_index, nb::dict shards) {
  const Dataset::Location where = dataset.locate(record_index);
  const nb::int_ shard(where.shard_index);
  if (!shards.contains(shard)) {
    const auto kept = without_gil([&] { return kept_contents(dataset.shard(where.shard_index)); });
    shards[shard] = nb::bytes(kept.data(), kept.size() * sizeof(ContentSum));
  }
  const nb::bytes all = nb::borrow<nb::bytes>(shards[shard]);
  const size_t at = sizeof(ContentSum) * static_cast<size_t>(where.local_index);
  return all.size() == 0 ? all : nb::bytes(all.c_str() + at, sizeof(ContentSum));
}

nb::any read_field(const Dataset& dataset, int64_t record_index, const std::string& name) {
  const size_t index = dataset.schema().require(name);
  const Field& field = dataset.schema().fields[index];
  std::vector<std::byte> bytes;
  const bool is_there = without_gil([&] { return dataset.read_field(record_index, index, bytes); });
  return any_of(
      value_to_python(field, FieldView(field, bytes, !is_there, dataset.name(record_index))));
}

nb::any column(const Dataset& dataset, const std::string& name) {
  const Field& field = dataset.schema().fields[dataset.schema().require(name)];
  if (field.type == FieldType::string) {
    return any_of(texts_to_python(without_gil([&] { return dataset.string_column(name); })));
  }
  if (field.type == FieldType::scalar && !is_integer(field.dtype)) {
    return any_of(numpy_vector(without_gil([&] { return dataset.float_column(name); })));
  }
  if (field.type == FieldType::scalar && field.dtype == DType::u64) {
    return any_of(numpy_vector(without_gil([&] { return dataset.uint_column(name); })));
  }
  return any_of(numpy_vector(without_gil([&] { return dataset.int_column(name); })));
}

// [height, width, 3] u8.
nb::any decode_picture(const nb::bytes& data) {
  ImageDecoder decoder;
  std::vector<uint8_t> pixels;
  RgbView view;
  without_gil([&] {
    view = decoder.decode({static_cast<const std::byte*>(data.data()), data.size()});
    const size_t row_bytes = 3 * static_cast<size_t>(view.width);
    pixels.reserve(row_bytes * static_cast<size_t>(view.height));
    for (int y = 0; y < view.height; ++y) {
      const uint8_t* row = view.data + view.stride * y;
      pixels.insert(pixels.end(), row, row + row_bytes);
    }
  });
  return any_of(numpy_vector(std::move(pixels)).attr("reshape")(view.height, view.width, 3));
}

// Rank, number of ranks, and the variables that say so, where a launcher started this process as
// one of several.
std::optional<std::tuple<int64_t, int64_t, std::string>> launched_share() {
  const std::optional<JobPlace> place = find_loader_place(process_environment());
  if (!place) return std::nullopt;
  return std::make_tuple(place->index, place->count, place->found_by);
}

}  // namespace

void bind_dataset(nb::module_& module) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  // As Python's _Limits.
  using Limits = std::tuple<int64_t, int64_t, int64_t, std::string>;
  const auto options = [](const Limits& limits) {
    const auto& [max_record_bytes, index_cache_bytes, max_open_shards, check_shards] = limits;
    ShardReaderOptions shards;
    if (max_record_bytes > 0) shards.max_record_bytes = max_record_bytes;
    if (index_cache_bytes > 0) shards.index_cache_bytes = index_cache_bytes;
    if (max_open_shards > 0) shards.max_open_shards = max_open_shards;
    shards.check_shards = from_name<ShardCheck>(check_shards);
    return shards;
  };
  nb::class_<Dataset>(module, "Dataset")
      .def_static(
          "open",
          [options](const std::filesystem::path& path, const std::string& split,
                    const Limits& limits) { return Dataset::open(path, split, options(limits)); },
          nb::arg("path"), nb::arg("split"), nb::arg("limits"), Release())
      .def_static(
          "open_files",
          [options](const std::vector<std::filesystem::path>& files, const Limits& limits) {
            return Dataset::open_files(files, options(limits));
          },
          nb::arg("files"), nb::arg("limits"), Release())
      .def_static("chain", &Dataset::chain, nb::arg("sources"), Release())
      .def_prop_ro(
          "path", [](const Dataset& d) { return text_to_python(without_marks(d.path().native())); })
      .def_prop_ro("split", [](const Dataset& d) { return text_to_python(d.manifest().split); })
      .def_prop_ro("num_records", &Dataset::num_records)
      .def_prop_ro("num_shards", &Dataset::num_shards)
      .def_prop_ro("fingerprint", &Dataset::fingerprint)
      .def_prop_ro("format_version", &Dataset::format_version)
      .def_prop_ro("warnings", [](const Dataset& d) { return texts_to_python(d.warnings()); })
      .def_prop_ro(
          "schema", [](const Dataset& d) { return schema_to_python(d.schema()); },
          nb::sig("def schema(self) -> list[tuple[str, str, str | None, bool, str | None]]"))
      .def_prop_ro("classes",
                   [](const Dataset& d) { return texts_to_python(d.manifest().classes); })
      .def_prop_ro("class_names",
                   [](const Dataset& d) { return texts_to_python(d.manifest().class_names); })
      .def_prop_ro(
          "class_ids",
          [](const Dataset& d) {
            nb::list ids;
            for (const ClassId& id : d.manifest().class_ids) {
              const auto* const number = std::get_if<int64_t>(&id);
              if (number != nullptr) {
                ids.append(nb::int_(*number));
              } else {
                ids.append(text_to_python(std::get<std::string>(id)));
              }
            }
            return ids;
          },
          nb::sig("def class_ids(self) -> list[int | str]"))
      .def_prop_ro("source", [](const Dataset& d) { return facts(d.manifest().source); })
      .def_prop_ro("options", [](const Dataset& d) { return facts(d.manifest().options); })
      .def_prop_ro("created_by",
                   [](const Dataset& d) { return text_to_python(d.manifest().created_by); })
      .def_prop_ro("is_subset", &Dataset::is_subset)
      .def("whole_split", &Dataset::whole_split)
      .def_prop_ro("num_sources", &Dataset::num_sources)
      .def("source_of", &Dataset::source_of, nb::arg("record_index"))
      .def("index_in_split", &Dataset::index_in_split, nb::arg("record_index"))
      .def("subset", &Dataset::subset, nb::arg("record_indices"), Release())
      .def(
          "where",
          [](const Dataset& d, const std::string& text) { return d.where(parse_filter(text)); },
          nb::arg("filter"), Release())
      .def("read", &read_record, nb::arg("record_index"))
      .def("kept_content", &kept_content, nb::arg("record_index"), nb::arg("shards"))
      .def("read_field", &read_field, nb::arg("record_index"), nb::arg("field"))
      .def("column", &column, nb::arg("field"))
      .def(
          "picture_sizes",
          [](const Dataset& d, const std::string& field) {
            PictureSizes sizes = without_gil([&] { return picture_sizes(d, field); });
            return nb::make_tuple(numpy_vector(std::move(sizes.widths)),
                                  numpy_vector(std::move(sizes.heights)));
          },
          nb::arg("field"));
  module.def("list_splits", &list_splits, nb::arg("folder"), Release());
  module.def("decode_picture", &decode_picture, nb::arg("data"));
  module.def("usable_cores", &usable_cores);
  module.def("core_share", &core_share, nb::arg("local_world_size"));
  module.def("usable_memory_bytes", &usable_memory_bytes);
  module.def("launched_share", &launched_share);
  module.def("ranks_on_node", [] { return loaders_on_node(process_environment()); });
}

}  // namespace ffkit::python
