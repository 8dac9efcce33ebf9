// CountedRead: counts a read by a field decoder, such as of a further record, in LoaderStatistics.
// A slow disk is then not taken for slow decoding.
//
//   {
//     ffkit::CountedRead read(*scratch);
//     sweeps.read(number, bytes);
//     read.add_bytes(bytes.size());
//   }
//
// If the thread slept between construction and destruction, the time in which it did not run counts
// as reading. The time in which it ran, such as copying from the page cache, counts as decoding. An
// object belongs to one thread. It takes 0.5 us.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ffkit/loader/field_decoder.h>

namespace ffkit {

class CountedRead {
 public:
  // `scratch` must outlive this.
  explicit CountedRead(FieldDecoder::Scratch& scratch);
  ~CountedRead();
  CountedRead(const CountedRead&) = delete;
  CountedRead& operator=(const CountedRead&) = delete;

  void add_bytes(size_t num_bytes);

 private:
  struct Moment {
    int64_t ns;
    int64_t running_ns;  // of this thread
    int64_t num_sleeps;  // likewise
  };
  static Moment now();

  FieldDecoder::Work& work_;
  const Moment begin_;
};

}  // namespace ffkit
