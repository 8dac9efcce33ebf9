#include "checkpoint/checkpoint_writer.h"

#include <utility>

namespace ffkit {

CheckpointWriter::~CheckpointWriter() {
  if (running_.valid()) running_.wait();
}

void CheckpointWriter::write(std::filesystem::path path, SafeTensors contents,
                             std::function<void()> done) {
  write([path = std::move(path), contents = std::move(contents), done = std::move(done)] {
    write_safetensors(path, contents);
    done();
  });
}

void CheckpointWriter::write(std::function<void()> job) {
  wait();
  running_ = std::async(std::launch::async, std::move(job));
}

void CheckpointWriter::wait() {
  if (running_.valid()) running_.get();
}

}  // namespace ffkit
