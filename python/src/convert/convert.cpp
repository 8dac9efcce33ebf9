// ffkit.convert: what ffconvert does, on threads of C++ beside Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>
#include <ffkit/base/option_table.h>
#include <ffkit/converter/convert.h>
#include <ffkit/converter/merge.h>
#include <ffkit/converter/v1.h>
#include <ffkit/format/dataset.h>
#include <ffkit/loader/permutation.h>
#include <ffkit/sources/registry.h>
#include <ffkit/sources/transcode.h>

#include "bindings.h"
#include "convert/sample_values.h"
#include "convert/watched.h"
#include "python_code.h"

namespace nb = nanobind;

namespace ffkit::python {
namespace {

// How a conversion is watched, from the dict that ffkit/convert.py makes.
struct Call {
  Call(std::string path, nb::dict control)
      : destination(std::move(path)),
        is_dry_run(nb::cast<bool>(control["dry_run"])),
        watched(control["on_progress"], control["on_note"]) {}

  void watch(ConvertOptions& options) {
    options.cancel = watched.cancel();
    options.progress = watched.progress();
    options.note = watched.note();
  }

  std::string destination;
  bool is_dry_run;
  Watched watched;
};

// Gives the table what was given, but for a list of ids, which no table holds: that goes into
// `options`.
void give_all(OptionTable& table, nb::dict given, ConvertOptions& options) {
  if (given.contains("only") && nb::isinstance<nb::list>(given["only"])) {
    options.only_ids = nb::cast<std::vector<std::string>>(given.attr("pop")("only"));
  }
  give(table, std::move(given));
}

// What a conversion gives back: its summary, or the estimate of a dry run.
struct Outcome {
  ConvertSummary summary;
  ConvertEstimate estimate;
  bool is_estimate = false;

  nb::dict to_python() const {
    return is_estimate ? ffkit::python::to_python(estimate) : ffkit::python::to_python(summary);
  }
};

// Converts a source; without the GIL.
Outcome convert_open(const Call& call, const Source& source, const ConvertOptions& options) {
  for (const std::string& sentence : source.notes()) options.note(sentence);
  Outcome outcome{.is_estimate = call.is_dry_run};
  if (call.is_dry_run) {
    outcome.estimate = estimate_conversion(source, options);
  } else {
    outcome.summary = convert(source, call.destination, options);
  }
  return outcome;
}

// Opens the source and converts it, without the GIL. Opening may change the options.
nb::dict run(Call& call, const ConvertOptions& options,
             const std::function<std::unique_ptr<Source>()>& open) {
  Outcome outcome;
  call.watched.run([&] {
    check_destination(call.destination, options);
    const std::unique_ptr<Source> source = open();
    outcome = convert_open(call, *source, options);
  });
  return outcome.to_python();
}

nb::dict convert_kind(const std::string& name, const std::string& path,
                      const std::string& destination, nb::dict given, nb::dict control) {
  Call call(destination, std::move(control));
  KindConversion conversion(source_kind(name));
  give_all(conversion.table(), std::move(given), conversion.options());
  call.watch(conversion.options());
  conversion.check();
  return run(call, conversion.options(),
             [&] { return conversion.open(path, destination, call.is_dry_run); });
}

nb::dict convert_python_source(nb::object python_source, const std::string& destination,
                               const std::string& pixels, nb::dict given, nb::dict control) {
  Call call(destination, std::move(control));
  ImageStorage images;
  ConvertOptions options;
  OptionTable table;  // over both
  describe(images, PictureUse::all, true, table);
  describe(options, table);
  give_all(table, std::move(given), options);
  validate(options, table);
  call.watch(options);
  validate(images, table);
  const std::unique_ptr<Source> source =
      open_python_source(std::move(python_source), images, pixels);
  Outcome outcome;
  try {
    call.watched.run([&] { outcome = convert_open(call, *source, options); });
  } catch (const Error& error) {
    const nb::object raised = raised_by(*source, error);
    if (raised.is_none()) throw;
    // Python's own exception, with what became of the conversion.
    add_note(raised, "ffkit: " + error.text(OptionStyle::python));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
    throw nb::python_error();
  }
  return outcome.to_python();
}

nb::dict transcode(const std::string& path, const std::string& destination, nb::dict given,
                   nb::dict control) {
  Call call(destination, std::move(control));
  TranscodeConversion conversion;
  give_all(conversion.table(), std::move(given), conversion.options());
  call.watch(conversion.options());
  conversion.check();
  return run(call, conversion.options(), [&] { return conversion.open(path); });
}

// Reads FFRecord v1, or writes it, by what `path` is.
nb::dict v1(const std::string& path, const std::string& destination, nb::dict given,
            nb::dict control) {
  Call call(destination, std::move(control));
  V1Options v1;
  ConvertOptions options;
  OptionTable table;
  describe(v1, options, table);
  give_all(table, std::move(given), options);
  call.watch(options);
  validate(options, table);
  std::vector<Dataset> splits = without_gil(
      [&] { return open_splits(path, {.max_record_bytes = options.max_record_bytes}); });
  if (are_v1(splits, path)) {
    table.refuse({"payload", "field"}, "is for writing FFRecord v1; src already is FFRecord v1");
    return run(call, options, [&] { return open_datasets(std::move(splits)); });
  }
  take_over(v1, options, table);
  Outcome outcome{.is_estimate = call.is_dry_run};
  call.watched.run([&] {
    check_destination(destination);
    if (call.is_dry_run) {
      outcome.estimate = estimate_v1(splits, v1);
    } else {
      outcome.summary = write_v1(splits, destination, v1);
    }
  });
  return outcome.to_python();
}

std::vector<int64_t> permutation(int64_t num_samples, uint64_t seed) {
  const nb::gil_scoped_release release;
  const Permutation permuted(num_samples, seed);
  std::vector<int64_t> order(num_samples);
  for (int64_t i = 0; i < num_samples; ++i) order[i] = permuted(i);
  return order;
}

nb::dict merge(const std::string& destination, const std::vector<std::string>& sources,
               nb::dict given, bool is_append, nb::object on_note) {
  Watched watched(nb::none(), std::move(on_note));
  MergeOptions options;
  OptionTable table;
  describe(options, table);
  give(table, std::move(given));
  options.cancel = watched.cancel();
  options.note = watched.note();
  const std::vector<std::filesystem::path> paths(sources.begin(), sources.end());
  ConvertSummary summary;
  watched.run([&] {
    summary = is_append ? append_datasets(destination, paths, options)
                        : merge_datasets(destination, paths, options);
  });
  return to_python(summary);
}

// {"folder": {"description": "Folders of ...", "path": True, "options": [{"name": ...}, ...]},
// ...}, with "transcode", "v1", "merge", "pictures" and "conversion" beside the kinds.
nb::dict option_tables() {
  nb::dict all;
  const auto add = [&all](const char* name, const char* description, bool has_path,
                          const OptionTable& table) {
    nb::dict facts;
    facts["description"] = description;
    facts["path"] = has_path;
    facts["options"] = to_python(table);
    all[name] = facts;
  };
  for (const SourceKind& kind : source_kinds()) {
    const KindConversion conversion(kind);
    add(kind.name, kind.description, kind.needs_path, conversion.table());
  }
  add("transcode", "Transcodes the pictures of a data set into the dct code, or back to JPEG", true,
      TranscodeConversion().table());
  const auto add_described = [&](const char* name, const char* description, auto&&... options) {
    OptionTable table;
    describe(options..., table);
    add(name, description, true, table);
  };
  add_described("v1", "Converts FFRecord v1 to an ffkit data set, or back", V1Options(),
                ConvertOptions());
  add_described("merge", "Joins several data sets into a new one", MergeOptions());
  add_described("pictures", "How pictures are stored", ImageStorage(), PictureUse::all, true);
  add_described("conversion", "Options of all conversions", ConvertOptions());
  return all;
}

}  // namespace

void bind_convert(nb::module_& module) {
  module.def("convert_kind", &convert_kind, nb::arg("name"), nb::arg("path"),
             nb::arg("destination"), nb::arg("given"), nb::arg("control"));
  module.def("convert_python_source", &convert_python_source, nb::arg("source"),
             nb::arg("destination"), nb::arg("pixels"), nb::arg("given"), nb::arg("control"));
  module.def("transcode", &transcode, nb::arg("path"), nb::arg("destination"), nb::arg("given"),
             nb::arg("control"));
  module.def("v1", &v1, nb::arg("path"), nb::arg("destination"), nb::arg("given"),
             nb::arg("control"));
  module.def("merge", &merge, nb::arg("destination"), nb::arg("sources"), nb::arg("given"),
             nb::arg("is_append"), nb::arg("on_note").none());
  module.def("permutation", &permutation, nb::arg("num_samples"), nb::arg("seed"));
  module.def(
      "check_pictures", [](nb::dict given) { storage_of(std::move(given)); }, nb::arg("given"));
  module.def("option_tables", &option_tables);
  bind_parquet(module);
}

}  // namespace ffkit::python
