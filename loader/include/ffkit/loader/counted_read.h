// CountedRead: counts a read that a field decoder does itself, such as of a further record, so that
// LoaderStatistics shows it with the loader's own, and a slow disk as such.
//
//   {
//     ffkit::CountedRead read(*scratch);
//     sweeps.read(number, bytes);
//     read.add_bytes(bytes.size());
//   }
//
// When the thread had to sleep between construction and destruction, what it did not run counts as
// reading, and not as decoding; the time in which it ran, copying from the page cache for instance,
// is decoding. One thread's. Takes 0.5 us.
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
