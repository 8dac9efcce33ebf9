#include "plan/chosen_source.h"

#include <algorithm>
#include <numeric>

#include <ffkit/base/option_names.h>

#include "base/printable.h"
#include "input/cancel.h"
#include "input/input_file.h"
#include "input/row_values.h"
#include "input/source_error.h"
#include "pack/packer.h"
#include "places/place.h"
#include "plan/split_plan.h"

namespace ffkit {
namespace {

// Splits of a source, and of each the samples that are taken, in the source's order.
struct ChosenSplit {
  size_t split = 0;
  std::vector<int64_t> samples;
};

class ChosenSource final : public Source {
 public:
  ChosenSource(const Source& source, std::vector<ChosenSplit> chosen, std::string summary)
      : source_(source), chosen_(std::move(chosen)), summary_(std::move(summary)) {
    splits_.reserve(chosen_.size());
    manifests_.reserve(chosen_.size());
    for (const ChosenSplit& split : chosen_) {
      SourceSplit info = source_.splits()[split.split];
      info.num_samples = std::ssize(split.samples);
      if (info.num_bytes > 0) {
        info.num_bytes = std::accumulate(split.samples.begin(), split.samples.end(), int64_t{0},
                                         [&](int64_t sum, int64_t sample) {
                                           return sum + source_.sample_bytes(split.split, sample);
                                         });
      }
      splits_.push_back(std::move(info));
      manifests_.push_back(manifest_of(split.split));
    }
  }

  const std::vector<SourceSplit>& splits() const override { return splits_; }
  Schema schema() const override { return source_.schema(); }
  Schema split_schema(size_t split) const override { return source_.split_schema(number(split)); }
  bool has_record_references() const override { return source_.has_record_references(); }
  const std::vector<std::string>& classes() const override { return source_.classes(); }
  const std::vector<std::string>& class_names() const override { return source_.class_names(); }
  const std::vector<ClassId>& class_ids() const override { return source_.class_ids(); }
  std::vector<std::string> totals() const override { return source_.totals(); }
  const std::vector<std::string>& notes() const override { return source_.notes(); }
  bool checks_headers_only() const override { return source_.checks_headers_only(); }
  std::vector<std::filesystem::path> roots() const override { return source_.roots(); }
  bool reads_in_order() const override { return source_.reads_in_order(); }

  std::map<std::string, std::string> facts(size_t split) const override {
    return source_.facts(number(split));
  }

  std::map<std::string, std::string> options() const override {
    std::map<std::string, std::string> options = source_.options();
    options[kOnly] = summary_;
    return options;
  }

  const Manifest* manifest(size_t split) const override {
    const std::optional<Manifest>& manifest = manifests_.at(split);
    return manifest ? &*manifest : nullptr;
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    return source_.identity(number(split), sample(split, index));
  }
  std::vector<SourceInput> inputs(size_t split) const override {
    return source_.inputs(number(split));
  }
  std::optional<std::string> listed_id(size_t split, int64_t index) const override {
    return source_.listed_id(number(split), sample(split, index));
  }
  int64_t sample_bytes(size_t split, int64_t index) const override {
    return source_.sample_bytes(number(split), sample(split, index));
  }
  std::filesystem::path archive(size_t split) const override {
    return source_.archive(number(split));
  }
  int64_t position(size_t split, int64_t index) const override {
    return source_.position(number(split), sample(split, index));
  }
  void will_read(size_t split, int64_t index) const override {
    source_.will_read(number(split), sample(split, index));
  }
  std::string describe(size_t split, int64_t index) const override {
    return source_.describe(number(split), sample(split, index));
  }
  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    source_.read(number(split), sample(split, index), record, buffers);
  }

 private:
  size_t number(size_t split) const { return chosen_.at(split).split; }
  int64_t sample(size_t split, int64_t index) const {
    return chosen_.at(split).samples.at(static_cast<size_t>(index));
  }

  // The one that is taken over, where there is one. Its shards held other records.
  std::optional<Manifest> manifest_of(size_t split) const {
    const Manifest* const given = source_.manifest(split);
    if (given == nullptr) return std::nullopt;
    Manifest manifest = *given;
    if (!manifest.shards.empty()) manifest.options.erase("shard_bytes");
    manifest.shards.clear();
    std::string& only = manifest.options[kOnly];
    only = only.empty() ? summary_ : fmt::format("{}, and of these {}", only, summary_);
    return manifest;
  }

  const Source& source_;
  const std::vector<ChosenSplit> chosen_;
  const std::string summary_;
  std::vector<SourceSplit> splits_;
  std::vector<std::optional<Manifest>> manifests_;
};

// The field of a record that is its id.
struct IdField {
  size_t number = 0;
  bool is_text = true;
  DType dtype = DType::i64;  // of a whole number
};

std::optional<IdField> id_field(const Schema& schema) {
  const int number = schema.index_of("id");
  if (number < 0) return std::nullopt;
  const Field& field = schema.fields[static_cast<size_t>(number)];
  IdField found{.number = static_cast<size_t>(number),
                .is_text = field.type == FieldType::string,
                .dtype = field.dtype};
  if (!found.is_text && !is_whole_number(field)) return std::nullopt;
  return found;
}

std::string id_in(const RecordView& record, const IdField& field) {
  if (field.is_text) return std::string(record.string(field.number));
  const uint64_t bits = record.field(field.number).scalar_bits(field.dtype);
  return field.dtype == DType::u64 ? std::to_string(bits)
                                   : std::to_string(whole_number(field.dtype, bits));
}

class Choice {
 public:
  Choice(const Source& source, const ConvertOptions& options, IdList list)
      : source_(source),
        options_(options),
        list_(std::move(list)),
        num_samples_(list_.ids.size()) {}

  std::unique_ptr<Source> make() {
    require_ids();
    for (const std::string& sentence : list_.notes) note(sentence);
    std::vector<ChosenSplit> chosen;
    std::vector<std::string> left_out;
    for (size_t split = 0; split < source_.splits().size(); ++split) {
      ChosenSplit taken{.split = split, .samples = samples_of(split)};
      const SourceSplit& info = source_.splits()[split];
      if (taken.samples.empty()) {
        left_out.push_back(fmt::format("'{}'", info.name));
      } else {
        taken_.push_back(
            fmt::format("{} of {} of '{}'", taken.samples.size(), info.num_samples, info.name));
        chosen.push_back(std::move(taken));
      }
    }
    require_found();
    note_found(left_out);
    return std::make_unique<ChosenSource>(source_, std::move(chosen), list_.summary());
  }

 private:
  void note(const std::string& sentence) const {
    if (options_.note) options_.note(sentence);
  }

  void require_ids() const {
    if (source_.has_record_references()) {
      throw argument_error("only",
                           "the records of this source refer to each other by number, so no record "
                           "can be left out; convert without " +
                               option_name("only"));
    }
    for (size_t split = 0; split < source_.splits().size(); ++split) {
      if (id_field(source_.split_schema(split))) return;
    }
    throw argument_error(
        "only", fmt::format("{}: this option needs a field 'id' with texts or whole numbers, but "
                            "the records of this source have only the fields {}",
                            option_name("only"), fields_of_schema()));
  }

  std::string fields_of_schema() const {
    std::string names;
    for (const Field& field : source_.schema().fields) {
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", field.name);
    }
    return names;
  }

  std::vector<int64_t> samples_of(size_t split) {
    const SourceSplit& info = source_.splits()[split];
    const std::optional<IdField> field = id_field(source_.split_schema(split));
    std::vector<int64_t> all(static_cast<size_t>(info.num_samples));
    std::iota(all.begin(), all.end(), int64_t{0});
    if (!field) {
      note(fmt::format("split '{}' has no ids, so all of its samples are taken", info.name));
      return all;
    }
    std::vector<int64_t> taken;
    std::vector<int64_t> unlisted;
    for (const int64_t sample : all) {
      if (sample % kCancelEach == 0) throw_if_cancelled(options_.cancel);
      const std::optional<std::string> id = source_.listed_id(split, sample);
      if (!id) {
        unlisted.push_back(sample);
      } else if (is_asked_for(*id)) {
        taken.push_back(sample);
      }
    }
    if (unlisted.empty()) return taken;
    note(fmt::format("split '{}': {} of {} samples are first read once to get their ids", info.name,
                     unlisted.size(), info.num_samples));
    read_ids(split, unlisted, *field, taken);
    std::ranges::sort(taken);
    return taken;
  }

  bool is_asked_for(std::string_view id) {
    if (example_.empty()) example_ = id;
    const std::optional<size_t> number = list_.find(id);
    if (!number) return false;
    ++num_samples_[*number];
    return true;
  }

  // Adds those of `samples` whose records have an id that is asked for.
  void read_ids(size_t split, const std::vector<int64_t>& samples, const IdField& field,
                std::vector<int64_t>& taken) {
    class Sink : public PackSink {
     public:
      Sink(Choice& choice, Schema schema, const IdField& field, std::vector<int64_t>& taken)
          : choice_(choice), schema_(std::move(schema)), field_(field), taken_(taken) {}
      void append(int64_t sample, EncodedSample& encoded) override {
        if (encoded.error) {
          ++num_bad;
          if (first_error.empty()) first_error = encoded.error->what();
          return;
        }
        const RecordView record(schema_, encoded.record, {});
        if (record.is_null(field_.number)) return;
        if (choice_.is_asked_for(id_in(record, field_))) taken_.push_back(sample);
      }

      int64_t num_bad = 0;
      std::string first_error;

     private:
      Choice& choice_;
      const Schema schema_;
      const IdField& field_;
      std::vector<int64_t>& taken_;
    };
    const SourceSplit& info = source_.splits()[split];
    ConvertOptions trial = options_;
    trial.bad_samples = BadSamples::skip;
    Sink sink(*this, source_.split_schema(split), field, taken);
    const PackUnit unit{.samples = samples};
    pack_samples(source_, split, std::span(&unit, 1), trial, {}, sink,
                 [&](const PackProgress& progress) {
                   if (!options_.progress) return;
                   options_.progress({.split = info.name,
                                      .num_samples = std::ssize(samples),
                                      .num_done = progress.num_done,
                                      .num_skipped = progress.num_skipped,
                                      .bytes_done = progress.record_bytes,
                                      .records = "ids"});
                 });
    if (sink.num_bad == 0) return;
    note(
        fmt::format("warning: split '{}': {} of {} samples cannot be read, so their ids are "
                    "unknown, and they are left out: {}",
                    info.name, sink.num_bad, info.num_samples, sink.first_error));
  }

  void require_found() const {
    if (std::ranges::any_of(num_samples_, [](int64_t count) { return count > 0; })) return;
    const bool are_numbers = std::ranges::all_of(list_.ids, [](const std::string& id) {
      return id.find_first_not_of("0123456789") == std::string::npos;
    });
    const std::vector<std::string_view> ids(list_.ids.begin(), list_.ids.end());
    std::string message =
        fmt::format("{}: no sample has {} {}: {}", list_.name, ids.size() == 1 ? "the" : "any of",
                    ids.size() == 1 ? "id" : fmt::format("{} ids", ids.size()), some_ids(ids));
    if (!example_.empty()) {
      const std::string_view example = example_;
      message += fmt::format(", but an id of this source is {}", some_ids(std::span(&example, 1)));
    }
    if (are_numbers) message += "; give ids, not record numbers";
    throw argument_error("only", message);
  }

  void note_found(const std::vector<std::string>& left_out) const {
    std::string sentence = fmt::format("{}: the samples with these ids are taken: {}", list_.name,
                                       fmt::join(taken_, ", "));
    if (!left_out.empty()) {
      sentence +=
          fmt::format("; {} {} none of these ids, so {} left out", fmt::join(left_out, ", "),
                      left_out.size() == 1 ? "has" : "have", left_out.size() == 1 ? "is" : "are");
    }
    note(sentence);
    std::vector<std::string_view> missing;
    std::vector<std::string_view> shared;
    int64_t num_sharing = 0;
    for (size_t i = 0; i < list_.ids.size(); ++i) {
      if (num_samples_[i] == 0) missing.emplace_back(list_.ids[i]);
      if (num_samples_[i] < 2) continue;
      shared.emplace_back(list_.ids[i]);
      num_sharing += num_samples_[i];
    }
    if (!missing.empty()) {
      note(fmt::format("warning: {}: {} of {} ids {} to no sample: {}", list_.name, missing.size(),
                       list_.ids.size(), missing.size() == 1 ? "belongs" : "belong",
                       some_ids(missing)));
    }
    if (!shared.empty()) {
      note(fmt::format(
          "warning: {}: {} of {} ids {} to several samples; all {} samples are taken: {}",
          list_.name, shared.size(), list_.ids.size(), shared.size() == 1 ? "belongs" : "belong",
          num_sharing, some_ids(shared)));
    }
  }

  static constexpr int64_t kCancelEach = 4096;

  const Source& source_;
  const ConvertOptions& options_;
  const IdList list_;
  std::vector<int64_t> num_samples_;  // of each id
  std::vector<std::string> taken_;    // "90 of 1000 of 'train'"
  std::string example_;               // an id of the source
};

// The lines of a file, without their ends and without those that are empty.
std::vector<std::string> lines_of(std::string_view text, IdList& list) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
    add_note(list.notes, list.name, "begins with a byte order mark, which is left out");
  }
  std::vector<std::string> lines;
  int64_t num_returns = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
      ++num_returns;
    }
    if (!line.empty()) lines.emplace_back(line);
  }
  if (num_returns > 0) {
    add_note(list.notes, list.name, "{} with \\r\\n; the \\r is not part of the ids",
             num_returns == 1 ? "1 line ends" : fmt::format("{} lines end", num_returns));
  }
  return lines;
}

std::vector<std::string> ids_in_file(const fs::path& path, IdList& list) {
  constexpr int64_t kMaxBytes = 1LL << 30;
  const std::string text = read_source_text(path, kMaxBytes);
  if (!is_utf8(text)) {
    throw source_error(path, ErrorCode::invalid_argument,
                       "the file is not UTF-8 text; give a text file with one id on each line");
  }
  return lines_of(text, list);
}

void sort_ids(IdList& list) {
  std::ranges::sort(list.ids);
  std::vector<std::string_view> repeated;
  for (size_t i = 1; i < list.ids.size(); ++i) {
    if (list.ids[i] != list.ids[i - 1]) continue;
    if (repeated.empty() || repeated.back() != list.ids[i]) repeated.emplace_back(list.ids[i]);
  }
  if (!repeated.empty()) {
    add_note(list.notes, list.name, "{} more than once, and {}: {}",
             repeated.size() == 1 ? "1 id appears" : fmt::format("{} ids appear", repeated.size()),
             repeated.size() == 1 ? "counts once" : "count once", some_ids(repeated));
  }
  list.ids.erase(std::unique(list.ids.begin(), list.ids.end()), list.ids.end());
}

}  // namespace

std::unique_ptr<Source> choose_samples(const Source& source, const ConvertOptions& options) {
  std::optional<IdList> list = read_id_list(options);
  if (!list) return nullptr;
  return Choice(source, options, *std::move(list)).make();
}

std::string IdList::summary() const {
  PlanHash hash;
  for (const std::string& id : ids) hash.add(id);
  return fmt::format("{} {}, {}", ids.size(), ids.size() == 1 ? "id" : "ids", hash.digits());
}

std::optional<size_t> IdList::find(std::string_view id) const {
  const auto found = std::ranges::lower_bound(ids, id);
  if (found == ids.end() || *found != id) return std::nullopt;
  return static_cast<size_t>(found - ids.begin());
}

IdList read_ids(const fs::path& file, const std::optional<std::vector<std::string>>& given,
                const char* option) {
  IdList list{.name = given ? "the ids given" : shown_place(file)};
  list.ids = given ? *given : ids_in_file(file, list);
  if (list.ids.empty()) {
    throw argument_error(option, list.name + ": there are no ids; give at least one id");
  }
  sort_ids(list);
  return list;
}

std::optional<IdList> read_id_list(const ConvertOptions& options) {
  if (options.only.empty() && !options.only_ids) return std::nullopt;
  return read_ids(options.only, options.only_ids, "only");
}

std::string some_ids(std::span<const std::string_view> ids) {
  constexpr size_t kMaxNamed = 3;
  constexpr size_t kMaxBytes = 100;
  std::string text;
  for (size_t i = 0; i < std::min(ids.size(), kMaxNamed); ++i) {
    const bool is_long = ids[i].size() > kMaxBytes;
    text += fmt::format("{}'{}{}'", i == 0 ? "" : ", ", printable(ids[i].substr(0, kMaxBytes)),
                        is_long ? "..." : "");
  }
  if (ids.size() > kMaxNamed) text += fmt::format(" and {} more", ids.size() - kMaxNamed);
  return text;
}

}  // namespace ffkit
