#include <algorithm>

#include <ffkit/base/compression.h>
#include <ffkit/base/option_names.h>
#include <ffkit/converter/options.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "launch/job_place.h"

namespace ffkit {

constexpr std::string_view kPartOfEnvironment = "auto";
constexpr std::string_view kAutomatic = "auto";  // of by_files

ConvertPart parse_part(std::string_view text) {
  if (text == kPartOfEnvironment) {
    const JobPlace place = find_job_place(
        process_environment(), fmt::format("give the part as {}", option_set("part", "i/n")));
    return {.index = place.index + 1, .count = place.count, .found_by = place.found_by};
  }
  const size_t slash = std::min(text.find('/'), text.size());
  const auto index = number_of_text<int64_t>(text.substr(0, slash));
  const auto count = number_of_text<int64_t>(text.substr(std::min(slash + 1, text.size())));
  if (index && count && *index >= 1 && *index <= *count) return {.index = *index, .count = *count};
  throw error_of(ErrorCode::invalid_argument,
                 "the part is '{}', expected i/n with i from 1 to n, such as 2/8, or {}", text,
                 kPartOfEnvironment);
}

int64_t parse_by_files(std::string_view text) {
  if (text == kAutomatic) return 0;
  if (const auto num_files = number_of_text<int64_t>(text); num_files >= 1) return *num_files;
  throw error_of(ErrorCode::invalid_argument,
                 "the number of files in a group is '{}'; give 1 or more, or {}", text, kAutomatic);
}

std::string by_files_text(int64_t by_files) {
  return by_files == 0 ? std::string(kAutomatic) : std::to_string(by_files);
}

void describe(ConvertOptions& options, OptionTable& table) {
  table.group("Conversion");
  table
      .add("num-threads", options.num_threads,
           "Number of threads; 0: one for each core. The output is the same for any number")
      .set_range(0, 1024);
  table.add("shard-size", options.shard_bytes, "Size of a shard: 64M, 1G, ... (powers of 1024)")
      .set_size()
      .set_range(1 << 20, 1LL << 40);
  table.add_choice("order", options.order, {"shuffle", "sequential"},
                   "Order of the records. shuffle: training splits are shuffled with " +
                       option_name("seed") + "; sequential: the order of the source");
  table.add("seed", options.seed, "Seed of all random choices, 0 .. 2^64-1");
  table.add_choice("bad-samples", options.bad_samples, {"fail", "skip", "keep"},
                   "If a sample cannot be read: fail: the conversion fails; skip: the sample (for "
                   "texts the document) is left out; keep: its bytes are stored as they are. "
                   "DST/report.jsonl names each one");
  table
      .add("zstd", options.zstd_level,
           "Compresses each record: 1 (fast) .. 22 (small), -7 .. -1 (faster still); 0: off. JPEG "
           "pictures do not shrink")
      .set_range(-7, 22);
  table
      .add("zstd-dictionary", options.zstd_dictionary_bytes,
           "With " + option_name("zstd") +
               ": trains a dictionary of this size on the first records of each split, which makes "
               "small records smaller; usually 112K")
      .set_size()
      .set_range_or_zero(256, kMaxDictionaryBytes);
  table.add_choice(
      "read", options.read,
      "How archives are read. direct: each picture when its turn comes; gather: once from front to "
      "back, through temporary files in DST, for slow disks; auto: measures which is faster");
  table
      .add_words(
          "part",
          [&options] {
            return options.part.count == 1
                       ? std::string()
                       : fmt::format("{}/{}", options.part.index, options.part.count);
          },
          [&options](const std::string& text) { options.part = parse_part(text); },
          "Makes only part i of n, for n machines; auto: i and n come from the Slurm array, srun, "
          "mpirun or torchrun. 'ffconvert merge DST PART...' joins parts that have separate "
          "folders; with auto, or if DST is an address, all parts have the same DST, and "
          "'ffconvert merge DST' joins them")
      .set_type_name("i/n")
      .set_default("the whole");
  table.add("merge-when-complete", options.merge_when_complete,
            "With " + option_name("part") +
                ": all parts have the same DST, and the part that ends last joins them; the result "
                "is the same as on one machine");
  table
      .add_words(
          "by-files",
          [&options] {
            return options.by_files ? by_files_text(*options.by_files) : std::string();
          },
          [&options](const std::string& text) { options.by_files = parse_by_files(text); },
          "For very many samples in many files: lists only the files, and converts them in groups "
          "of N files; auto: in groups of about 128 MiB, or " +
              option_name("shard_size") +
              " if that is less. Memory is needed for only one group. Files are shuffled, and "
              "samples within a group. The first group determines the fields")
      .set_type_name("auto|N")
      .set_default("all samples are listed at once");
  table
      .add("only", options.only,
           "Converts only the samples with these ids: a text file with one id per line; ids are "
           "values of the field 'id'. Ids that no sample has are counted")
      .set_default("all samples");
  table
      .add(
          "max-record", options.max_record_bytes,
          "Refuses records longer than this; to read larger records, programs need the same option")
      .set_size()
      .set_range(1, 1LL << 60);
  table.add(
      "license", options.attribution.license,
      "License of the data, stored in the manifest and shown by ffinspect info: \"CC BY 4.0\"");
  table.add("data-source", options.attribution.source,
            "Origin of the data, stored in the manifest: an address, a paper, a person");
  table.add("note", options.attribution.note, "Further notes on the data, stored in the manifest");
  table.add("resume", options.resume,
            "Continues an interrupted run of the same command; starts if DST is empty. "
            "Without it, unfinished files in DST are removed first");
}

void validate(const ConvertOptions& options) {
  check_options(options);
  if (options.max_bytes_in_flight < (1LL << 20)) {
    throw argument_error("max_bytes_in_flight",
                         fmt::format("the memory for samples is {} bytes, expected 1 MiB or more",
                                     options.max_bytes_in_flight));
  }
  const ConvertPart& part = options.part;
  if (part.count < 1 || part.index < 1 || part.index > part.count) {
    throw argument_error("part", fmt::format("the part is {}/{}, expected i/n with i from 1 to n",
                                             part.index, part.count));
  }
  if (options.by_files && *options.by_files < 0) {
    throw argument_error(
        "by_files", fmt::format("a group has {} files, expected 1 or more", *options.by_files));
  }
  if (options.by_files && (!options.only.empty() || options.only_ids)) {
    throw argument_error("by_files", fmt::format("{} and {} cannot be combined, because ids need a "
                                                 "list of all samples; leave one of them out",
                                                 option_name("by_files"), option_name("only")));
  }
  if (!options.only.empty() && options.only_ids) {
    throw argument_error("only", "give the ids, or a file with them, not both");
  }
  if (options.zstd_dictionary_bytes != 0 && options.zstd_level == 0) {
    throw argument_error(
        "zstd_dictionary",
        "a zstd dictionary works only with compressed records; also give a zstd level");
  }
}

void validate(const ConvertOptions& options, const OptionTable& table) {
  validate(options);
  if (table.is_given("only") && options.only.empty()) {
    throw argument_error("only", option_name("only") + ": the value is empty; name a file");
  }
  if (!options.merge_when_complete || table.is_given("part")) return;
  throw argument_error("merge_when_complete",
                       fmt::format("there are no parts to merge without {}; give it as i/n or "
                                   "auto",
                                   option_name("part")));
}

}  // namespace ffkit
