#include <optional>
#include <system_error>
#include <utility>

#include <ffkit/converter/sample_writer.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/unfinished.h>

#include "base/machine/wait_check.h"
#include "output/destination.h"
#include "output/destination_checks.h"
#include "pack/report.h"
#include "samples/sample_queue.h"
#include "storage/addresses/place.h"

namespace ffkit {

struct SampleWriter::Impl {
  Impl(const std::filesystem::path& folder, const std::string& split, Schema schema,
       const SampleWriterOptions& options)
      : claimed(Destination::claim(
            folder,
            {.kind = Destination::Kind::split, .note = options.note, .poll = options.poll})) {
    claimed->note_start_over(options.note, folder);
    writer.emplace(folder, manifest_of_samples(split, schema, options),
                   DatasetWriterOptions{.shard_bytes = options.shard_bytes,
                                        .compression = {.level = options.zstd_level}});
    queue = std::make_unique<SampleQueue>(
        std::move(schema), options, [this](const EncodedSample& sample) {
          writer->append(sample.record, sample.stored, sample.content);
        });
  }

  ~Impl() {
    const WaitCheck check(ends_own_waits_once([this] { return !is_finished; }));
    queue.reset();
    writer.reset();
    claimed.reset();
  }

  bool is_finished = false;
  std::unique_ptr<Destination> claimed;
  std::optional<DatasetWriter> writer;
  std::unique_ptr<SampleQueue> queue;  // last: its threads use what is above
};

SampleWriter::SampleWriter(const std::filesystem::path& destination, const std::string& split,
                           Schema schema, const SampleWriterOptions& options) {
  require_valid_split(split, schema, options);
  refuse_unfinished(destination);
  impl_ = with_errors_of(destination, [&] {
    return std::make_unique<Impl>(Place(destination).path() / split, split, std::move(schema),
                                  options);
  });
}

SampleWriter::~SampleWriter() {
  // In a process that was forked off there are no threads to end, and the files are the other's.
  if (impl_ != nullptr && !impl_->queue->is_of_this_process()) static_cast<void>(impl_.release());
}

const Schema& SampleWriter::schema() const noexcept {
  return impl_->queue->schema();
}

int64_t SampleWriter::write(SetFields set_fields, int64_t num_bytes) {
  impl_->queue->require_this_process(impl_->claimed->folder());
  return impl_->queue->write(std::move(set_fields), num_bytes);
}

SplitSummary SampleWriter::finish() {
  Impl& impl = *impl_;
  try {
    impl.queue->finish();
    impl.claimed->require_held();
    const Manifest manifest = impl.writer->finish();
    impl.claimed->commit();
    impl.is_finished = true;
    return summary_of(manifest);
  } catch (const std::system_error&) {
    throw current_error(impl.claimed->folder());
  }
}

}  // namespace ffkit
