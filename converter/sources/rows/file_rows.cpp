#include "sources/rows/file_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <ffkit/format/option_names.h>

#include "format/make_error.h"
#include "places/brace_list.h"
#include "places/place.h"

namespace ffkit {

namespace fs = std::filesystem;

FileRows::FileRows(std::string kind, fs::path path, const Options& options)
    : kind_(std::move(kind)), path_(std::move(path)), options_(options) {}

size_t FileRows::add_split(std::string name, bool is_training, FileGroup files,
                           const DecompressedFiles::FindStream& find_stream) {
  DecompressedFiles decompressed(files, options_.temporary_folder, options_.cancel, "file",
                                 find_stream);
  if (!decompressed.note().empty()) {
    notes_.push_back(
        fmt::format("{}: split '{}': {}", shown_place(path_), name, decompressed.note()));
  }
  splits_.push_back(Split{.files = std::move(files),
                          .decompressed = std::move(decompressed),
                          .first_row = {0},
                          .rows = {}});
  infos_.push_back({.name = std::move(name), .is_training = is_training});
  return splits_.size() - 1;
}

int64_t FileRows::file_bytes(size_t split, size_t file) const {
  const Split& from = splits_.at(split);
  if (const auto place = from.decompressed.find(file)) return place->range.num_bytes;
  return from.files.stamps().at(file).num_bytes;
}

void FileRows::read_file(size_t split, size_t file, int64_t offset,
                         std::span<std::byte> out) const {
  const Split& from = splits_.at(split);
  if (const auto place = from.decompressed.find(file)) {
    place->file.read_at(place->range.offset + offset, out);
  } else {
    from.files.read_at(file, offset, out);
  }
}

void FileRows::will_read_file(size_t split, size_t file, int64_t offset, int64_t num_bytes) const {
  const Split& from = splits_.at(split);
  num_bytes = std::min(num_bytes, from.files.stamps().at(file).num_bytes - offset);
  if (num_bytes > 0 && !from.decompressed.find(file)) {
    from.files.will_read(file, offset, num_bytes);
  }
}

void FileRows::add_rows(size_t split, std::span<const FileRange> ranges) {
  Split& to = splits_.at(split);
  to.rows.insert(to.rows.end(), ranges.begin(), ranges.end());
  to.first_row.push_back(to.rows.size());
  SourceSplit& info = infos_[split];
  info.num_samples += std::ssize(ranges);
  for (const FileRange& range : ranges) info.num_bytes += range.num_bytes;
}

size_t FileRows::file_of(const Split& split, int64_t row) const {
  const auto next = std::ranges::upper_bound(split.first_row, static_cast<size_t>(row));
  return static_cast<size_t>(next - split.first_row.begin()) - 1;
}

std::map<std::string, std::string> FileRows::facts(size_t split) const {
  return {{"kind", kind_},
          {"path", absolute_name(path_)},
          {"files", std::to_string(splits_.at(split).files.paths().size())}};
}

std::vector<fs::path> FileRows::roots() const {
  return root_if_folder(path_);
}

std::vector<SourceInput> FileRows::inputs(size_t split) const {
  const FileGroup& files = splits_.at(split).files;
  std::vector<SourceInput> inputs;
  inputs.reserve(files.paths().size());
  for (size_t i = 0; i < files.paths().size(); ++i) {
    inputs.push_back({.name = name_below(path_, files.paths()[i]),
                      .num_bytes = files.stamps()[i].num_bytes,
                      .modified_ns = files.stamps()[i].modified_ns});
  }
  return inputs;
}

int64_t FileRows::row_bytes(size_t split, int64_t row) const {
  return splits_.at(split).rows.at(static_cast<size_t>(row)).num_bytes;
}

std::string FileRows::name(size_t split, int64_t row) const {
  const Split& from = splits_.at(split);
  const size_t file = file_of(from, row);
  return fmt::format("{}: {}", name_below(path_, from.files.paths()[file]),
                     row - static_cast<int64_t>(from.first_row[file]));
}

std::string FileRows::describe(size_t split, int64_t row) const {
  const Split& from = splits_.at(split);
  const size_t file = file_of(from, row);
  return fmt::format("{}: {}", from.files.paths()[file].string(),
                     row - static_cast<int64_t>(from.first_row[file]));
}

void FileRows::will_read(size_t split, int64_t row) const {
  const Split& from = splits_.at(split);
  const FileRange& range = from.rows.at(static_cast<size_t>(row));
  will_read_file(split, file_of(from, row), range.offset, range.num_bytes);
}

std::span<const std::byte> FileRows::row_data(size_t split, int64_t row,
                                              SampleBuffers& buffers) const {
  const Split& from = splits_.at(split);
  const FileRange& range = from.rows.at(static_cast<size_t>(row));
  if (range.num_bytes > options_.max_row_bytes) {
    throw error_of(
        ErrorCode::unsupported,
        "has {} bytes, and a sample may have {}; take it away, or raise the limit with {}",
        range.num_bytes, options_.max_row_bytes, option_name("max_sample_bytes"));
  }
  const std::span<std::byte> bytes = buffers.bytes(static_cast<size_t>(range.num_bytes));
  read_file(split, file_of(from, row), range.offset, bytes);
  return bytes;
}

void FileRows::read(size_t split, int64_t row, std::span<RowValue> values,
                    SampleBuffers& buffers) const {
  parse(row_data(split, row, buffers), values, buffers);
}

void FileRows::parse(std::span<const std::byte> /*row*/, std::span<RowValue> /*values*/,
                     SampleBuffers& /*buffers*/) const {
  throw std::logic_error("a subclass of FileRows overrides parse() or read()");
}

}  // namespace ffkit
