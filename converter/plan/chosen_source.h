// The samples of a source that a conversion was asked for (ConvertOptions::only), as a source of
// their own: so whatever plans, reads and compares sees these alone.
#pragma once

#include <memory>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// Null where all samples are asked for. `source` must outlive what is returned. Splits without such
// a sample are left out. Samples whose ids the source does not list are read for them: in parallel,
// with options.progress; a sample that cannot be read then has no id. options.note is told how many
// samples there are, which ids are those of none or of several, and what was left out or read.
// Throws Error(invalid_argument) where no sample has such an id, for a source whose records have
// none, or refer to each other by number; and as read_id_list().
std::unique_ptr<Source> choose_samples(const Source& source, const ConvertOptions& options);

}  // namespace ffkit
