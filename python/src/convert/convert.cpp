// ffkit.convert: what ffconvert does, on threads of C++ beside Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/converter/convert.h>
#include <ffkit/converter/merge.h>
#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>
#include <ffkit/converter/v1.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>
#include <ffkit/loader/permutation.h>

#include "bindings.h"
#include "convert/python_source.h"
#include "convert/sample_values.h"
#include "convert/summaries.h"
#include "convert/watched.h"

namespace nb = nanobind;

namespace ffkit::python {
namespace {

// What all conversions have, from the dict that ffkit/_convert_options.py makes.
struct Arguments {
  Arguments(std::string path, nb::dict options)
      : destination(std::move(path)),
        is_dry_run(nb::cast<bool>(options["dry_run"])),
        storage(storage_of(options)),
        watched(options["on_progress"], options["on_note"]) {
    convert.num_threads = nb::cast<int>(options["threads"]);
    convert.shard_bytes = nb::cast<int64_t>(options["shard_bytes"]);
    convert.order = parse_record_order(nb::cast<std::string>(options["order"]));
    convert.seed = nb::cast<uint64_t>(options["seed"]);
    convert.on_error = parse_on_error(nb::cast<std::string>(options["on_error"]));
    convert.read = parse_read_mode(nb::cast<std::string>(options["read"]));
    if (!options["part"].is_none()) {
      convert.part = parse_part(nb::cast<std::string>(options["part"]));
    }
    convert.resume = nb::cast<bool>(options["resume"]);
    convert.zstd_level = nb::cast<int>(options["zstd"]);
    convert.zstd_dictionary_bytes = nb::cast<int64_t>(options["zstd_dictionary"]);
    convert.max_record_bytes = nb::cast<int64_t>(options["max_record"]);
    convert.cancel = watched.cancel();
    convert.progress = watched.progress();
    convert.note = watched.note();
    validate(convert);
  }

  std::string destination;
  bool is_dry_run;
  ImageStorage storage;
  Watched watched;
  ConvertOptions convert;
};

// What a conversion gives back: its summary, or the estimate of a dry run.
struct Outcome {
  ConvertSummary summary;
  ConvertEstimate estimate;
  bool is_estimate = false;

  nb::dict to_python() const {
    return is_estimate ? ffkit::python::to_python(estimate) : ffkit::python::to_python(summary);
  }
};

// Opens the source and converts it; without the GIL.
Outcome convert_source(Arguments& arguments, const std::function<std::unique_ptr<Source>()>& open) {
  check_destination(arguments.destination, arguments.convert.resume);
  const std::unique_ptr<Source> source = open();
  for (const std::string& sentence : source->notes()) arguments.convert.note(sentence);
  Outcome outcome{.is_estimate = arguments.is_dry_run};
  if (arguments.is_dry_run) {
    outcome.estimate = estimate_conversion(*source, arguments.convert);
  } else {
    outcome.summary = convert(*source, arguments.destination, arguments.convert);
  }
  return outcome;
}

nb::dict convert_kind(const std::string& name, const std::string& path,
                      const std::string& destination, nb::dict parameters, nb::dict options) {
  const SourceKind& kind = source_kind(name);
  Arguments arguments(destination, options);
  SourceArguments source{.path = path,
                         .seed = arguments.convert.seed,
                         .num_threads = arguments.convert.num_threads,
                         .is_dry_run = arguments.is_dry_run,
                         .temporary_folder = arguments.destination,
                         .cancel = arguments.watched.cancel(),
                         .images = arguments.storage};
  for (const SourceParameter& parameter : kind.parameters) {
    if (!parameters.contains(parameter.name)) continue;
    const nb::object value = parameters[parameter.name];
    switch (parameter.type) {
      case SourceParameter::Type::number: {
        const auto number = nb::cast<int64_t>(value);
        if (number < parameter.min_value || number > parameter.max_value) {
          throw Error(ErrorCode::invalid_argument,
                      std::string(parameter.name) + " is " + std::to_string(number) +
                          "; it must be " + std::to_string(parameter.min_value) + " to " +
                          std::to_string(parameter.max_value));
        }
        source.numbers[parameter.name] = number;
        break;
      }
      case SourceParameter::Type::flag:
        source.flags[parameter.name] = nb::cast<bool>(value);
        break;
      case SourceParameter::Type::text:
        source.texts[parameter.name] = nb::cast<std::string>(value);
        break;
    }
  }
  check_arguments(kind, source);
  if (kind.keeps_order || (kind.keeps_order_with != nullptr && kind.keeps_order_with(source))) {
    arguments.convert.order = RecordOrder::source;
  }
  Outcome outcome;
  arguments.watched.run(
      [&] { outcome = convert_source(arguments, [&] { return kind.open(source); }); });
  return outcome.to_python();
}

nb::dict convert_python_source(nb::object python_source, const std::string& destination,
                               nb::dict options) {
  Arguments arguments(destination, options);
  const std::unique_ptr<Source> source = open_python_source(std::move(python_source), options);
  Outcome outcome{.is_estimate = arguments.is_dry_run};
  try {
    arguments.watched.run([&] {
      if (arguments.is_dry_run) {
        outcome.estimate = estimate_conversion(*source, arguments.convert);
      } else {
        outcome.summary = convert(*source, arguments.destination, arguments.convert);
      }
    });
  } catch (const Error& error) {
    const nb::object raised = raised_by(*source, error);
    if (raised.is_none()) throw;
    // Python's own exception, with what became of the conversion.
    if (PyObject_HasAttrString(raised.ptr(), "add_note") != 0) {
      raised.attr("add_note")("ffkit: " + error.text(OptionStyle::python));
    }
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
    throw nb::python_error();
  }
  return outcome.to_python();
}

nb::dict transcode(const std::string& path, const std::string& destination, bool keeps_shards,
                   bool keeps_compression, nb::dict options) {
  Arguments arguments(destination, options);
  arguments.convert.order = RecordOrder::source;
  Outcome outcome;
  arguments.watched.run([&] {
    outcome = convert_source(arguments, [&] {
      std::vector<Dataset> splits =
          open_splits(path, {.max_record_bytes = arguments.convert.max_record_bytes});
      if (keeps_compression) take_over_compression(splits, arguments.convert);
      return open_transcoded(std::move(splits),
                             {.store = arguments.storage.store, .keeps_shards = keeps_shards});
    });
  });
  return outcome.to_python();
}

nb::dict from_v1(const std::string& path, const std::string& destination, nb::dict options) {
  Arguments arguments(destination, options);
  Outcome outcome;
  arguments.watched.run([&] {
    outcome = convert_source(arguments, [&] {
      return open_datasets(
          open_splits(path, {.max_record_bytes = arguments.convert.max_record_bytes}));
    });
  });
  return outcome.to_python();
}

// Whether all splits at `path` are of FFRecord v1. Throws when only some are.
bool is_v1(const std::string& path, int64_t max_record_bytes) {
  const nb::gil_scoped_release release;
  const std::vector<Dataset> splits = open_splits(path, {.max_record_bytes = max_record_bytes});
  const auto num_v1 = std::ranges::count_if(
      splits, [](const Dataset& split) { return split.format_version() == 1; });
  if (num_v1 != 0 && num_v1 != std::ssize(splits)) {
    throw Error(ErrorCode::invalid_argument,
                "holds splits of FFRecord v1 and of ffkit's own format; give one of them",
                {.path = path});
  }
  return num_v1 != 0;
}

std::vector<int64_t> permutation(int64_t num_samples, uint64_t seed) {
  const nb::gil_scoped_release release;
  const Permutation permuted(num_samples, seed);
  std::vector<int64_t> order(static_cast<size_t>(num_samples));
  for (int64_t i = 0; i < num_samples; ++i) order[static_cast<size_t>(i)] = permuted(i);
  return order;
}

nb::dict to_v1(const std::string& path, const std::string& destination, const std::string& payload,
               const std::string& field, int64_t part_bytes, nb::dict options) {
  Arguments arguments(destination, options);
  const V1Options v1{.content = parse_v1_content(payload),
                     .field = field,
                     .shard_bytes = part_bytes,
                     .max_record_bytes = arguments.convert.max_record_bytes,
                     .cancel = arguments.watched.cancel(),
                     .progress = arguments.watched.progress(),
                     .note = arguments.watched.note()};
  Outcome outcome{.is_estimate = arguments.is_dry_run};
  arguments.watched.run([&] {
    check_destination(destination);
    const std::vector<Dataset> splits =
        open_splits(path, {.max_record_bytes = v1.max_record_bytes});
    if (arguments.is_dry_run) {
      outcome.estimate = estimate_v1(splits, v1);
    } else {
      outcome.summary = write_v1(splits, destination, v1);
    }
  });
  return outcome.to_python();
}

nb::dict merge(const std::string& destination, const std::vector<std::string>& sources,
               const std::string& transfer, bool is_append, nb::object on_note) {
  Watched watched(nb::none(), std::move(on_note));
  MergeOptions options{.cancel = watched.cancel(), .note = watched.note()};
  if (transfer == "move") {
    options.transfer = ShardTransfer::move;
  } else if (transfer == "copy") {
    options.transfer = ShardTransfer::copy;
  } else if (transfer != "link") {
    throw Error(ErrorCode::invalid_argument,
                "transfer is '" + transfer + "'; it must be link, move or copy");
  }
  const std::vector<std::filesystem::path> paths(sources.begin(), sources.end());
  ConvertSummary summary;
  watched.run([&] {
    summary = is_append ? append_datasets(destination, paths, options)
                        : merge_datasets(destination, paths, options);
  });
  return to_python(summary);
}

// {"imagenet": {"images": True, "store": False, "exif": True, "path": True, "parameters":
// {"splits": "text", ...}}, ...}
nb::dict kinds() {
  nb::dict all;
  for (const SourceKind& kind : source_kinds()) {
    nb::dict parameters;
    for (const SourceParameter& parameter : kind.parameters) {
      const char* type = parameter.type == SourceParameter::Type::number ? "number"
                         : parameter.type == SourceParameter::Type::flag ? "flag"
                                                                         : "text";
      parameters[parameter.name] = type;
    }
    nb::dict facts;
    facts["images"] = kind.has_images;
    facts["store"] = kind.takes_store;
    facts["exif"] = kind.takes_exif;
    facts["path"] = kind.needs_path;
    facts["parameters"] = parameters;
    all[kind.name] = facts;
  }
  return all;
}

}  // namespace

void bind_convert(nb::module_& module) {
  module.def("convert_kind", &convert_kind, nb::arg("name"), nb::arg("path"),
             nb::arg("destination"), nb::arg("parameters"), nb::arg("options"));
  module.def("convert_python_source", &convert_python_source, nb::arg("source"),
             nb::arg("destination"), nb::arg("options"));
  module.def("transcode", &transcode, nb::arg("path"), nb::arg("destination"),
             nb::arg("keeps_shards"), nb::arg("keeps_compression"), nb::arg("options"));
  module.def("from_v1", &from_v1, nb::arg("path"), nb::arg("destination"), nb::arg("options"));
  module.def("to_v1", &to_v1, nb::arg("path"), nb::arg("destination"), nb::arg("payload"),
             nb::arg("field"), nb::arg("part_bytes"), nb::arg("options"));
  module.def("merge", &merge, nb::arg("destination"), nb::arg("sources"), nb::arg("transfer"),
             nb::arg("is_append"), nb::arg("on_note").none());
  module.def("is_v1", &is_v1, nb::arg("path"), nb::arg("max_record"));
  module.def("permutation", &permutation, nb::arg("num_samples"), nb::arg("seed"));
  module.def("source_kinds", &kinds);
}

}  // namespace ffkit::python
