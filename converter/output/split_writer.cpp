#include "output/split_writer.h"

#include <fmt/format.h>

#include <system_error>

#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/error.h>
#include <ffkit/format/shard_reader.h>

#include "format/file/durable_file.h"
#include "format/file/file.h"

namespace ffkit {

namespace fs = std::filesystem;

SplitWriter::SplitWriter(const Source& source, const SplitPlan& plan, fs::path folder)
    : source_(source), plan_(plan), folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directory(folder_, error);
  if (error) {
    throw Error(ErrorCode::io, "cannot create the folder",
                {.path = folder_.string(), .errno_value = error.value()});
  }
}

SplitWriter::~SplitWriter() {
  if (closing_.valid()) closing_.wait();
}

bool SplitWriter::take_over(int64_t shard) {
  const fs::path path = path_of(shard);
  if (!fs::exists(path)) return false;
  const std::string start_over = fmt::format("run without {} to start over", option_on("resume"));
  const ErrorContext place{.path = path.string(), .subject = ErrorSubject::destination};
  ShardFacts facts;
  try {
    facts = ShardReader(path).facts();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    throw error.within(place).with_subject(place.subject).with_remedy(start_over);
  }
  if (facts.uuid != plan_.uuid(shard)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("belongs to another conversion; give the options it was begun with, or {}",
                    start_over),
        place);
  }
  finished_[shard] = {facts, path.filename().string()};
  return true;
}

void SplitWriter::begin(int64_t shard) {
  shard_ = shard;
  report_.clear();
}

void SplitWriter::append(int64_t sample, EncodedSample& encoded) {
  const std::string report = report_lines(source_, plan_.split, sample, encoded);
  if (encoded.error) return append({}, {}, report);
  append(encoded.record, encoded.stored, report);
}

void SplitWriter::append(std::span<const std::byte> record, const StoredRecord& stored,
                         const std::string& report) {
  report_ += report;
  if (record.empty()) return;
  if (writer_ == nullptr) {
    writer_ = std::make_unique<ShardWriter>(
        path_of(shard_), plan_.manifest.schema,
        ShardWriterOptions{.uuid = plan_.uuid(shard_), .compression = plan_.compression});
  }
  writer_->append(record, stored);
}

void SplitWriter::end() {
  const fs::path report_path = report_path_of(shard_);
  if (!report_.empty()) {
    write_durably(report_path, report_);
  } else if (fs::exists(report_path)) {
    fs::remove(report_path);
  }
  wait();
  if (writer_ == nullptr) return;  // every sample was left out
  closing_shard_ = shard_;
  closing_writer_ = std::move(writer_);
  const auto finish = [writer = closing_writer_.get()] { return writer->finish(); };
  try {
    closing_ = std::async(std::launch::async, finish);
  } catch (const std::system_error&) {  // no thread can be started: wait() does it
    closing_ = std::async(std::launch::deferred, finish);
  }
}

void SplitWriter::wait() {
  if (!closing_.valid()) return;
  finished_[closing_shard_] = {closing_.get(), shard_file_name(closing_shard_)};
}

std::vector<ManifestShard> SplitWriter::finish() {
  wait();
  std::vector<ManifestShard> shards;
  for (const auto& [number, shard] : finished_) shards.push_back(shard);
  return shards;
}

void SplitWriter::add_lines_to(ReportFile& report) const {
  for (int64_t shard = plan_.begin_shard; shard < plan_.end_shard; ++shard) {
    report.add(read_report(report_path_of(shard)));
  }
}

fs::path SplitWriter::path_of(int64_t shard) const {
  return folder_ / shard_file_name(shard);
}

fs::path SplitWriter::report_path_of(int64_t shard) const {
  return folder_ / fmt::format("shard-{:05}.report.tmp", shard);
}

}  // namespace ffkit
