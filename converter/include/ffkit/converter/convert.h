// convert: a whole source into a data set folder, all or nothing.
//
//   DST/.ffkit-unfinished   while this runs (locked), removed last: readers refuse the folder until then
//   DST/<split>/...         one folder a split (DatasetWriter)
//   DST/report.jsonl        samples that were left out or changed, one JSON object a line; only when there are any
#pragma once

#include <filesystem>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>
#include <ffkit/converter/summary.h>

namespace ffkit {

// Throws Error(invalid_argument) when convert() would refuse `destination` for what it holds,
// Error(io) when it cannot be examined. Changes nothing; for callers who want to know before they
// open a large source. `resume`: of ConvertOptions; a finished data set is then looked at by
// convert().
void check_destination(const std::filesystem::path& destination, bool resume = false);

// Converts every split of `source` into `destination`, which is made when it does not exist (with
// its parents). An existing folder must be empty or hold what an unfinished conversion left: that
// is gone on with under options.resume, when source and options are the same, and else deleted,
// with a note. Under options.resume it may also hold the finished data set that this call would
// make, from a source that still lists the same samples: then that is summed up, with a note, and
// nothing is written. Anything else is an Error(invalid_argument) and nothing is touched; so is a
// destination inside one of the source's folders, one that another converter is working on, or one
// with less free space than the shards are estimated to need. On an error, cancelling included,
// finished shards stay for a call with options.resume, in a folder that readers refuse; when there
// are none, what this call
// made is removed. Blocks; not to be called twice at once for the
// same destination (the second call throws).
ConvertSummary convert(const Source& source, const std::filesystem::path& destination,
                       const ConvertOptions& options);

// What convert() would write with these options, told from the sizes of all samples and from
// encoding some hundred of each split. Writes nothing. Throws as convert() does for the source.
ConvertEstimate estimate_conversion(const Source& source, const ConvertOptions& options);

}  // namespace ffkit
