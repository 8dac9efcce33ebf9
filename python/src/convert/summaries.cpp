#include "convert/summaries.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace ffkit::python {

nb::dict to_python(const SplitSummary& split) {
  nb::dict dict;
  dict["split"] = split.split;
  dict["num_records"] = split.num_records;
  dict["num_skipped"] = split.num_skipped;
  dict["num_shards"] = split.num_shards;
  dict["file_bytes"] = split.file_bytes;
  dict["fingerprint"] = split.fingerprint;
  nb::dict totals;
  for (const auto& [column, total] : split.totals) totals[column.c_str()] = total;
  dict["totals"] = totals;
  return dict;
}

nb::dict to_python(const ConvertSummary& summary) {
  nb::list splits;
  for (const SplitSummary& split : summary.splits) splits.append(to_python(split));
  nb::dict dict;
  dict["splits"] = splits;
  dict["num_classes"] = summary.num_classes;
  dict["num_reported"] = summary.num_reported;
  dict["without_dct"] = summary.without_dct;
  dict["remarks"] = summary.remarks;
  dict["headers_only"] = summary.headers_only;
  nb::dict reported;
  for (const auto& [action, lines] : summary.reported) reported[action.c_str()] = lines.count;
  dict["reported"] = reported;
  dict["seconds"] = summary.seconds;
  dict["was_finished"] = summary.was_finished;
  dict["num_parts"] = summary.num_parts;
  dict["num_finished_parts"] = summary.num_finished_parts;
  nb::list merged;
  for (const SplitSummary& split : summary.merged) merged.append(to_python(split));
  dict["merged"] = merged;
  return dict;
}

nb::dict to_python(const ConvertEstimate& estimate) {
  nb::list splits;
  for (const SplitEstimate& split : estimate.splits) {
    nb::dict dict;
    dict["split"] = split.split;
    dict["num_samples"] = split.num_samples;
    dict["num_shards"] = split.num_shards;
    dict["file_bytes"] = split.file_bytes;
    splits.append(dict);
  }
  nb::dict dict;
  dict["splits"] = splits;
  dict["seconds"] = estimate.seconds;
  return dict;
}

}  // namespace ffkit::python
