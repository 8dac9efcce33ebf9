#include "decode/bad_samples.h"

#include <errno.h>
#include <fmt/format.h>

namespace ffkit {

bool is_media_error(const Error& error) {
  return error.code() == ErrorCode::io && error.context().errno_value == EIO;
}

bool is_damage_of_data_set(const Error& error) {
  const ErrorSubject subject = error.context().subject;
  return subject == ErrorSubject::shard || subject == ErrorSubject::dataset;
}

bool is_bad_sample(const Error& error) {
  if (is_damage_of_data_set(error)) return false;
  return error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported ||
         error.code() == ErrorCode::not_found || is_media_error(error);
}

Error describe(const Dataset& dataset, const Error& error, int64_t record_index) {
  if (is_damage_of_data_set(error)) return error;
  const ErrorContext& context = error.context();
  const RecordName name = dataset.name(record_index);
  if (context.path == name.file->string() && context.record >= 0) return error;
  const Dataset::Location location = dataset.locate(record_index);
  return error.within({.path = name.file->string(),
                       .record = location.local_index,
                       .offset = location.record.offset,
                       .subject = ErrorSubject::sample});
}

// What is wrong may then be the index, which is behind the records.
void require_whole_file(const Dataset& dataset, const ShardFiles& files, const Error& error) {
  const ErrorContext& context = error.context();
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    const ShardReader& shard = dataset.shard(i);
    if (shard.path() != context.path) continue;
    const int64_t missing = files.missing_bytes(i, shard.summary().file_bytes);
    if (missing == 0) continue;
    throw Error(ErrorCode::io,
                fmt::format("the file has {} bytes less than when it was opened; it was cut while "
                            "in use, copy or convert it again",
                            missing),
                {.path = context.path,
                 .record = context.record,
                 .offset = context.offset,
                 .subject = ErrorSubject::shard});
  }
}

}  // namespace ffkit
