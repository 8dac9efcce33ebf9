// What all writers of a split from samples that come one by one have in common: SampleWriter, and
// the tasks of a ShardSink.
#pragma once

#include <string>

#include <ffkit/converter/sample_writer.h>
#include <ffkit/converter/summary.h>
#include <ffkit/format/manifest.h>

namespace ffkit {

// Throws Error(invalid_argument) for a schema, an option or a split's name that cannot be.
void require_valid_split(const std::string& split, const Schema& schema,
                         const SampleWriterOptions& options);

// The manifest, without shards.
Manifest manifest_of_samples(const std::string& split, Schema schema,
                             const SampleWriterOptions& options);

SplitSummary summary_of(const Manifest& manifest);

}  // namespace ffkit
