// convert: a whole source into a data set folder, all or nothing. A folder may be an address
// ("s3://bucket/set"); docs/storage-writing.md says what is different there.
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

// Looks at `destination` as convert() does, before a caller opens a large source. Changes nothing.
// Throws Error(invalid_argument) if convert() would refuse what the folder holds, and Error(io) if
// the folder cannot be examined. `resume`: ConvertOptions::resume. With it, a finished data set
// passes: convert() compares that with the source.
void check_destination(const std::filesystem::path& destination, bool resume = false);
// The same, and throws Error(invalid_argument) for options that do not go with the destination: a
// store's address has no place for the files of ReadMode::gather. Reads the file of
// ConvertOptions::only, and throws as convert() does where that holds no ids or cannot be read.
void check_destination(const std::filesystem::path& destination, const ConvertOptions& options);

// Converts every split of `source` into the folder `destination`. Makes the folder and its parents
// if they are not there. Blocks. A folder that is there must be one of these:
//
//   empty
//   an unfinished conversion   With options.resume that conversion continues, if source and options
//                              are the same. Without, it is deleted, with a note.
//   a finished data set        With options.resume, if this call would make the same one: the
//                              summary says so, with a note, and nothing is written.
//
// Throws Error(invalid_argument), and touches nothing, for any other folder, for one inside the
// source's folders, and for one that another process or thread is converting to; and for
// ConvertOptions::only with ids of no sample at all, or of a source whose records have none or
// refer to each other by number. Throws Error(io)
// if the disk has less free space than the shards are estimated to need. After an error or
// options.cancel, the finished shards stay for a call with options.resume, and readers refuse the
// folder. If no shard is finished, everything that this call made is removed.
//
// At an address, the part of a conversion (ConvertOptions::part) is written beside the others, and
// merge_datasets() of that address joins them. A claim of another machine is watched for 30 s, with
// a note, before it is taken over.
ConvertSummary convert(const Source& source, const std::filesystem::path& destination,
                       const ConvertOptions& options);

// Estimates what convert() would write with these options. Takes the sizes of all samples and
// encodes some hundred of each split. Writes nothing. Throws what convert() throws for the source.
ConvertEstimate estimate_conversion(const Source& source, const ConvertOptions& options);

}  // namespace ffkit
