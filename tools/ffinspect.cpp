// ffinspect: what is in a data set, and is it whole. Data on stdout, errors on stderr; exit status
// 0, 1 (failed, damaged) or 2 (wrong use).

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>

#include "command_line.h"

namespace ffkit {
namespace {

constexpr const char* kFooter = R"(Examples:
  ffinspect info /data/imagenet
  ffinspect ls /data/imagenet --split val --limit 5
  ffinspect cat /data/imagenet 17 --split val
  ffinspect cat /data/imagenet 17 --split val --field image > picture.jpg
  ffinspect verify /data/imagenet)";

std::string human_bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

// The wanted split, or all of them; DST may also be the folder of one split.
std::vector<Dataset> open_splits(const std::string& path, const std::string& split) {
  if (!split.empty()) return {Dataset::open(path, split)};
  if (std::filesystem::is_directory(path) &&
      !std::filesystem::exists(std::filesystem::path(path) / "manifest.json")) {
    std::vector<Dataset> all;
    for (const std::string& name : list_splits(path)) all.push_back(Dataset::open(path, name));
    if (!all.empty()) return all;
  }
  return {Dataset::open(path)};  // says what is wrong when it is not a data set
}

std::string class_of(const Dataset& dataset, int64_t label) {
  const auto& classes = dataset.manifest().classes;
  if (label < 0 || label >= static_cast<int64_t>(classes.size())) return "";
  return classes[static_cast<size_t>(label)];
}

std::string describe(const Field& field) {
  std::string text = fmt::format("{} {}", field.name, to_string(field.type));
  if (field.type == FieldType::scalar || field.type == FieldType::tensor) {
    text += fmt::format(" {}", to_string(field.dtype));
  }
  return text + (field.column ? " (column)" : "");
}

void print_facts(const char* title, const std::map<std::string, std::string>& facts) {
  for (const auto& [key, value] : facts) fmt::print("  {:<10} {} = {}\n", title, key, value);
}

void info(const std::vector<Dataset>& datasets) {
  for (const Dataset& dataset : datasets) {
    const Manifest& manifest = dataset.manifest();
    int64_t record_bytes = 0;
    for (const ManifestShard& shard : manifest.shards) record_bytes += shard.record_bytes;
    fmt::print("{}\n", dataset.path().string());
    fmt::print("  split      {}\n", manifest.split);
    fmt::print("  records    {} in {} shards, {} ({} of records, {} each on average)\n",
               dataset.num_records(), dataset.num_shards(), human_bytes(manifest.file_bytes()),
               human_bytes(record_bytes),
               human_bytes(record_bytes / std::max<int64_t>(1, dataset.num_records())));
    fmt::print("  classes    {}\n", manifest.classes.size());
    for (const Field& field : manifest.schema.fields)
      fmt::print("  field      {}\n", describe(field));
    print_facts("source", manifest.source);
    print_facts("option", manifest.options);
    fmt::print("  made by    {}, fingerprint {}\n", manifest.created_by, manifest.fingerprint());
  }
}

std::string field_as_text(const Schema& schema, const RecordView& record, size_t i) {
  const Field& field = schema.fields[i];
  if (record.is_null(i)) return "null";
  switch (field.type) {
    case FieldType::string:
      return std::string(record.string(i));
    case FieldType::tensor: {
      const TensorView tensor = record.tensor(i);
      return fmt::format("{} [{}]", to_string(tensor.dtype), fmt::join(tensor.shape, ", "));
    }
    case FieldType::scalar:
      switch (field.dtype) {
        case DType::u8:
          return fmt::to_string(record.scalar<uint8_t>(i));
        case DType::i8:
          return fmt::to_string(record.scalar<int8_t>(i));
        case DType::u16:
          return fmt::to_string(record.scalar<uint16_t>(i));
        case DType::i16:
          return fmt::to_string(record.scalar<int16_t>(i));
        case DType::u32:
          return fmt::to_string(record.scalar<uint32_t>(i));
        case DType::i32:
          return fmt::to_string(record.scalar<int32_t>(i));
        case DType::u64:
          return fmt::to_string(record.scalar<uint64_t>(i));
        case DType::i64:
          return fmt::to_string(record.scalar<int64_t>(i));
        case DType::f32:
          return fmt::to_string(record.scalar<float>(i));
        case DType::f64:
          return fmt::to_string(record.scalar<double>(i));
        case DType::f16:
        case DType::bf16:
          return fmt::format("0x{:02x}", fmt::join(record.raw(i), ""));
      }
      [[fallthrough]];
    default:
      return fmt::format("{} bytes", record.raw(i).size());
  }
}

// One line a record: its number and every field but images and bytes, which show their size. Reads
// the records.
void list(const std::vector<Dataset>& datasets, int64_t first, int64_t limit) {
  std::vector<std::byte> bytes;
  for (const Dataset& dataset : datasets) {
    const Schema& schema = dataset.schema();
    const int label_field = schema.index_of("label");
    std::string header = "split\trecord";
    for (const Field& field : schema.fields) header += "\t" + field.name;
    if (label_field >= 0) header += "\tclass";
    fmt::print("{}\n", header);
    const int64_t last =
        limit < 0 ? dataset.num_records() : std::min(dataset.num_records(), first + limit);
    for (int64_t i = first; i < last; ++i) {
      dataset.read(i, bytes);
      const RecordView record(schema, bytes);
      std::string line = fmt::format("{}\t{}", dataset.manifest().split, i);
      for (size_t f = 0; f < schema.fields.size(); ++f)
        line += "\t" + field_as_text(schema, record, f);
      if (label_field >= 0 && schema.fields[static_cast<size_t>(label_field)].dtype == DType::i64 &&
          !record.is_null(static_cast<size_t>(label_field))) {
        line += "\t" + class_of(dataset, record.scalar<int64_t>(static_cast<size_t>(label_field)));
      }
      fmt::print("{}\n", line);
    }
  }
}

void write_stdout(std::span<const std::byte> data) {
  if (std::fwrite(data.data(), 1, data.size(), stdout) != data.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, "cannot write to standard output", {.errno_value = errno});
  }
}

void cat(const std::vector<Dataset>& datasets, int64_t index, const std::string& field) {
  if (datasets.size() > 1) {
    throw Error(ErrorCode::invalid_argument,
                "the data set has several splits; say which with --split",
                {.path = datasets.front().path().parent_path().string()});
  }
  const Dataset& dataset = datasets.front();
  std::vector<std::byte> bytes;
  dataset.read(index, bytes);
  const RecordView record(dataset.schema(), bytes);
  if (field.empty()) {
    for (size_t i = 0; i < dataset.schema().fields.size(); ++i) {
      fmt::print("{}: {}\n", dataset.schema().fields[i].name,
                 field_as_text(dataset.schema(), record, i));
    }
    return;
  }
  const size_t i = dataset.schema().require(field);
  const FieldType type = dataset.schema().fields[i].type;
  if (type == FieldType::image || type == FieldType::bytes) {
    if (isatty(STDOUT_FILENO) != 0) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("field '{}' is binary; send it to a file: ffinspect cat ... > FILE", field));
    }
    write_stdout(record.bytes(i));
  } else if (type == FieldType::tensor) {
    write_stdout(record.tensor(i).data);
  } else {
    fmt::print("{}\n", field_as_text(dataset.schema(), record, i));
  }
}

// Reads every byte of every shard. Returns whether all is well.
bool verify(const std::vector<Dataset>& datasets) {
  bool is_whole = true;
  for (const Dataset& dataset : datasets) {
    std::mutex mutex;
    std::atomic<int64_t> num_problems = 0;
    tbb::parallel_for(int64_t{0}, dataset.num_shards(), [&](int64_t i) {
      const auto problems = dataset.shard(i).verify();
      num_problems += static_cast<int64_t>(problems.size());
      const std::scoped_lock lock(mutex);
      for (const ShardProblem& problem : problems) fmt::print("{}\n", problem.message);
    });
    if (num_problems == 0) {
      fmt::print("{}: whole: {} records, {} shards, {}\n", dataset.path().string(),
                 dataset.num_records(), dataset.num_shards(),
                 human_bytes(dataset.manifest().file_bytes()));
    } else {
      fmt::print("{}: DAMAGED: {} of {} records or index streams\n", dataset.path().string(),
                 num_problems.load(), dataset.num_records());
      is_whole = false;
    }
  }
  return is_whole;
}

int run(int argc, char** argv) {
  CLI::App app("Looks into ffkit data sets.", "ffinspect");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", "ffinspect " FFKIT_VERSION);
  std::string path;
  std::string split;
  std::string field;
  int64_t record = 0;
  int64_t first = 0;
  int64_t limit = -1;
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("DST", path, "Folder that ffconvert wrote, or one split's folder in it")
        ->required();
    command->add_option("--split", split, "Only this split");
    return command;
  };
  CLI::App* info_command =
      add("info", "Counts, schema, classes, source and options of every split");
  CLI::App* ls_command = add("ls", "One line a record, tab-separated");
  ls_command->add_option("--first", first, "Number of the first record listed")
      ->check(CLI::NonNegativeNumber);
  ls_command->add_option("--limit", limit, "List at most this many records of a split")
      ->check(CLI::NonNegativeNumber);
  CLI::App* cat_command =
      add("cat", "One record's fields, or the bytes of one field, to standard output");
  cat_command->add_option("RECORD", record, "Number of the record in its split, from 0")
      ->required();
  cat_command->add_option("--field", field,
                          "Only this field; images, bytes and tensors are written as they are");
  CLI::App* verify_command =
      add("verify", "Read everything, check every checksum, list all damage");

  return run_tool(app, argc, argv, [&] {
    const std::vector<Dataset> datasets = open_splits(path, split);
    if (info_command->parsed()) info(datasets);
    if (ls_command->parsed()) list(datasets, first, limit);
    if (cat_command->parsed()) cat(datasets, record, field);
    if (verify_command->parsed()) return verify(datasets) ? 0 : 1;
    return 0;
  });
}

}  // namespace
}  // namespace ffkit

int main(int argc, char** argv) {
  return ffkit::run(argc, argv);
}
