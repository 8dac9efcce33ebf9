#include "rows/file_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "converter/input/sample_arrays.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"

namespace ffkit {

namespace fs = std::filesystem;

FileRows::FileRows(std::string kind, fs::path path, const RowOptions& options)
    : kind_(std::move(kind)), path_(std::move(path)), options_(options) {}

size_t FileRows::add_split(std::string name, bool is_training, FileGroup files,
                           const DecompressedFiles::FindStream& find_stream) {
  DecompressedFiles decompressed(files, options_.temporary_folder, options_.cancel, "file",
                                 find_stream);
  if (!decompressed.note().empty()) {
    note("split '{}': {}", name, decompressed.note());
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

FileRows::Place FileRows::place_of(size_t split, int64_t row) const {
  const std::vector<size_t>& first_row = splits_.at(split).first_row;
  const auto next = std::ranges::upper_bound(first_row, static_cast<size_t>(row));
  const auto file = static_cast<size_t>(next - first_row.begin()) - 1;
  return {.file = file, .row = row - static_cast<int64_t>(first_row[file])};
}

std::map<std::string, std::string> FileRows::facts(size_t split) const {
  return facts_of_files(kind_, path_, splits_.at(split).files.paths().size());
}

std::vector<fs::path> FileRows::roots() const {
  return root_if_folder(path_);
}

std::vector<SourceInput> FileRows::inputs(size_t split) const {
  const FileGroup& files = splits_.at(split).files;
  return inputs_of_files(path_, files.paths(), files.stamps());
}

int64_t FileRows::row_bytes(size_t split, int64_t row) const {
  return splits_.at(split).rows.at(static_cast<size_t>(row)).num_bytes;
}

std::string FileRows::name(size_t split, int64_t row) const {
  const Place place = place_of(split, row);
  return name_of_row(name_below(path_, files(split).paths()[place.file]), place.row);
}

std::string FileRows::describe(size_t split, int64_t row) const {
  const Place place = place_of(split, row);
  return name_of_row(files(split).paths()[place.file].string(), place.row);
}

void FileRows::will_read(size_t split, int64_t row) const {
  const Split& from = splits_.at(split);
  const FileRange& range = from.rows.at(static_cast<size_t>(row));
  will_read_file(split, place_of(split, row).file, range.offset, range.num_bytes);
}

std::span<const std::byte> FileRows::row_data(size_t split, int64_t row,
                                              SampleBuffers& buffers) const {
  const Split& from = splits_.at(split);
  const FileRange& range = from.rows.at(static_cast<size_t>(row));
  require_sample_size(range.num_bytes, options_.max_sample_bytes);
  const std::span<std::byte> bytes = buffers.bytes(static_cast<size_t>(range.num_bytes));
  read_file(split, place_of(split, row).file, range.offset, bytes);
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
