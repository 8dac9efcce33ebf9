#include "output/split_writer.h"

#include <fmt/format.h>

#include <system_error>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/shard_reader.h>

#include "base/machine/wait_check.h"
#include "base/make_error.h"
#include "output/own_names.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"
#include "storage/writer/file_sink.h"

namespace ffkit {

constexpr size_t kMostClosing = 1;
constexpr size_t kMostClosingInStore = 4;

SplitWriter::SplitWriter(const Source& source, const SplitPlan& plan, fs::path folder,
                         fs::path reports, std::function<void()> may_close)
    : source_(source),
      plan_(plan),
      folder_(std::move(folder)),
      reports_(std::move(reports)),
      may_close_(std::move(may_close)) {
  if (Place(folder_).is_in_store()) {
    for (const fs::path& place : {folder_, reports_}) {
      for (std::string& name : names_in_folder(place).files) names_there_.insert(std::move(name));
    }
    return;
  }
  std::error_code error;
  fs::create_directory(folder_, error);
  require_done(error, folder_, "the folder cannot be created");
}

SplitWriter::~SplitWriter() {
  for (const Closing& closing : closing_) {
    if (closing.summary.valid()) closing.summary.wait();
  }
}

bool SplitWriter::is_there(const fs::path& path) const {
  return Place(folder_).is_in_store() ? names_there_.contains(path.filename().string())
                                      : fs::exists(path);
}

bool SplitWriter::take_over(int64_t shard) {
  const fs::path path = path_of(shard);
  if (!is_there(path)) return false;
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
        fmt::format(
            "this file belongs to another conversion; give the options of that conversion, or {}",
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
  append(encoded.record, encoded.stored, report, encoded.content);
}

void SplitWriter::append(std::span<const std::byte> record, const StoredRecord& stored,
                         const std::string& report, const ContentSum& content) {
  report_ += report;
  if (record.empty()) return;
  if (writer_ == nullptr) {
    writer_ =
        std::make_unique<ShardWriter>(path_of(shard_), plan_.manifest.schema,
                                      ShardWriterOptions{.uuid = plan_.uuid(shard_),
                                                         .compression = plan_.compression,
                                                         .expected_bytes = plan_.bytes_of(shard_)});
  }
  writer_->append(record, stored, content);
}

void SplitWriter::end() {
  const fs::path report_path = report_path_of(shard_);
  if (!report_.empty()) {
    write_text_at(report_path, report_);
    names_there_.insert(report_path.filename().string());
  } else if (is_there(report_path)) {
    remove_file_at(report_path);
    names_there_.erase(report_path.filename().string());
  }
  wait_for((Place(folder_).is_in_store() ? kMostClosingInStore : kMostClosing) - 1);
  if (writer_ == nullptr) return;  // every sample was left out
  Closing& closing = closing_.emplace_back();
  closing.shard = shard_;
  closing.writer = std::move(writer_);
  const auto finish = [writer = closing.writer.get(), may_close = may_close_] {
    if (may_close) may_close();
    return writer->finish();
  };
  try {
    closing.summary = std::async(std::launch::async, finish);
  } catch (const std::system_error&) {  // no thread can be started: wait() does it
    closing.summary = std::async(std::launch::deferred, finish);
  }
}

void SplitWriter::wait_for(size_t most) {
  while (closing_.size() > most) {
    wait_checked(closing_.front().summary);
    Closing closing = std::move(closing_.front());
    closing_.pop_front();
    finished_[closing.shard] = {closing.summary.get(), shard_file_name(closing.shard)};
  }
}

void SplitWriter::wait() {
  wait_for(0);
}

std::vector<ManifestShard> SplitWriter::finish() {
  wait();
  std::vector<ManifestShard> shards;
  for (const auto& [number, shard] : finished_) shards.push_back(shard);
  return shards;
}

std::vector<int64_t> SplitWriter::reports() const {
  std::vector<int64_t> reports;
  for (int64_t shard = plan_.begin_shard; shard < plan_.end_shard; ++shard) {
    if (is_there(report_path_of(shard))) reports.push_back(shard);
  }
  return reports;
}

fs::path SplitWriter::path_of(int64_t shard) const {
  return folder_ / shard_file_name(shard);
}

fs::path SplitWriter::report_path_of(int64_t shard) const {
  return reports_ / report_name(shard);
}

}  // namespace ffkit
