// What counts as a bad sample (BadSamples), and what is said of one. Pure functions of errors and
// data set: thread-safe.
#pragma once

#include <cstdint>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>

#include "io/shard_files.h"

namespace ffkit {

// The disk could not read.
bool is_media_error(const Error& error);
// A shard as a whole is concerned, such as a page of its index or its zstd dictionary, or the data
// set: an unknown number of records is lost.
bool is_damage_of_data_set(const Error& error);
// Broken data of a record, what the disk could not read however often it was tried, and what a
// field decoder calls corrupt, unsupported or not found, whichever file it names. Any other failure
// of the system, such as a file that was cut, is no bad sample: it would silently leave out more
// and more of the data.
bool is_bad_sample(const Error& error);

// `error`, which record `record_index` led to, completed by file and record where it lacks them. An
// error about another file keeps that, and its text begins with the record.
Error describe(const Dataset& dataset, const Error& error, int64_t record_index);
// Throws Error(io) when `error`, which names its file, comes from a shard that is shorter than it
// was when it was opened.
void require_whole_file(const Dataset& dataset, const ShardFiles& files, const Error& error);

}  // namespace ffkit
