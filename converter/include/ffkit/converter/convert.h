// convert: converts a whole source into a data set folder, all or nothing. A folder may be an
// address ("s3://bucket/set"); see docs/storage-writing.md.
//
//   DST/.ffkit-unfinished   from the first step to the last, locked: readers refuse the folder
//   DST/<split>/...         a folder for each split (DatasetWriter)
//   DST/report.jsonl        if there is something to say about samples: one JSON object a line
#pragma once

#include <filesystem>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>
#include <ffkit/converter/summary.h>

namespace ffkit {

// Checks `destination` like convert(), before a caller opens a large source. Changes nothing.
// Throws Error(invalid_argument) if convert() would refuse the folder, and Error(io) if it cannot
// be examined. `resume`: ConvertOptions::resume. With it, a finished data set is accepted;
// convert() compares it with the source.
void check_destination(const std::filesystem::path& destination, bool resume = false);
// The same, and throws Error(invalid_argument) for options that do not fit the destination: a store
// cannot hold the files of ReadMode::gather. Reads the file of ConvertOptions::only, and throws
// like convert() if it has no ids or cannot be read.
void check_destination(const std::filesystem::path& destination, const ConvertOptions& options);

// Converts every split of `source` into the folder `destination`, and creates the folder and its
// parents if needed. Blocks. An existing folder must be one of these:
//
//   empty
//   an unfinished conversion   With options.resume that conversion continues, if source and options
//                              are the same. Without, it is deleted, with a note.
//   a finished data set        With options.resume, if this call would make the same one: the
//                              summary says so, with a note, and nothing is written.
//
// Throws Error(invalid_argument), and changes nothing, for any other folder, for a folder inside
// the source, and for one to which another process or thread is converting. The same for
// ConvertOptions::only if no sample has one of the ids, if the records have no ids, or if they
// refer to each other by number. Throws Error(io) if the disk has less free space than the estimate
// for the shards. After an error or options.cancel, the finished shards stay for a call with
// options.resume, and readers refuse the folder. If no shard is finished, everything that this call
// made is removed.
//
// At an address, all parts of a conversion (ConvertOptions::part) are written beside each other,
// and merge_datasets() with that address joins them. If another machine has claimed the address,
// the claim is watched for 30 s, with a note, before it is taken over.
ConvertSummary convert(const Source& source, const std::filesystem::path& destination,
                       const ConvertOptions& options);

// Estimates the result of convert() with these options, from the sizes of all samples and by
// encoding some hundred of each split. Writes nothing. Throws like convert() for the source.
ConvertEstimate estimate_conversion(const Source& source, const ConvertOptions& options);

}  // namespace ffkit
