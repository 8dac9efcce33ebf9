// What counts as a bad sample (BadSamples), and what is said of one. Pure functions of errors and
// data set: thread-safe.
#pragma once

#include <cstdint>

#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>

#include "io/shard_files.h"

namespace ffkit {

// The disk could not read.
bool is_media_error(const Error& error);
// Of a whole shard, such as a page of its index or its zstd dictionary: it takes an unknown number
// of records along.
bool is_damage_of_file(const Error& error);
// Broken data of a record, and what the disk could not read however often it was tried. Any other
// failure of the system, such as a file that was cut, is no bad sample: it would silently leave out
// more and more of the data.
bool is_bad_sample(const Error& error);

// `error`, which record `record_index` led to, completed by file and record where it lacks them.
Error describe(const Dataset& dataset, const Error& error, int64_t record_index);
// Throws Error(io) when `error`, which names its file, comes from a shard that is shorter than it
// was when it was opened.
void require_whole_file(const Dataset& dataset, const ShardFiles& files, const Error& error);

}  // namespace ffkit
