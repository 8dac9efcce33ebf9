// convert: a whole source into a data set folder, all or nothing.
//
//   DST/.ffkit-unfinished   while this runs (locked), removed last: readers refuse the folder
//                           until then
//   DST/<split>/...         one folder a split (DatasetWriter)
//   DST/report.jsonl        samples that were left out or changed, one JSON object a line; only
//                           when there are any
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
// its parents). An existing folder must be empty or hold what an unfinished conversion left. With
// options.resume that conversion continues, if source and options are the same; otherwise it is
// deleted, with a note. With options.resume the folder may also hold the finished data set that
// this call would make from the samples that the source lists now: the summary is of that data set
// then, with a note, and nothing is written.
//
// Anything else is an Error(invalid_argument), and nothing is touched: a folder that holds
// something else, lies inside one of the source's folders, is used by another converter, or has
// less free space than the shards are estimated to need. After an error, cancelling included,
// finished shards stay for a call with options.resume, in a folder that readers refuse; without
// any, what this call made is removed. Blocks. A second call for the same destination at the same
// time throws.
ConvertSummary convert(const Source& source, const std::filesystem::path& destination,
                       const ConvertOptions& options);

// What convert() would write with these options, told from the sizes of all samples and from
// encoding some hundred of each split. Writes nothing. Throws as convert() does for the source.
ConvertEstimate estimate_conversion(const Source& source, const ConvertOptions& options);

}  // namespace ffkit
