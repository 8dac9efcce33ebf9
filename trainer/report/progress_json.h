// Progress for programs: objects of JSON, one a line. Each has a "kind":
//
//   {"kind":"start","epochs":15,"steps_per_epoch":156,"steps":2340,"steps_done":0,
//    "samples_per_step":256,"units":"images"}
//   train and validation: as metrics.jsonl has them (metrics_log.h)
//   {"kind":"epoch","step":156,"epoch":1,"epochs":15,"train_loss":1.72,"lr":0.1,
//    "images_per_second":812.4,"data_wait_share":0.002,"skipped_steps":0,"seconds":9.1}
//   {"kind":"summary","state":"done","best_metric":"top1","best":0.619,"best_epoch":15,...,
//    "seconds":140.2,"checkpoint":"run/epoch-0015.safetensors"}
//
// "state" is done, stopped or finished (there was nothing left to do). A validation by itself has
// neither step nor epoch.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include <ffkit/trainer/eval_result.h>

namespace ffkit {

struct StartOfRun {
  int64_t num_epochs = 0;
  int64_t steps_per_epoch = 0;
  int64_t num_steps = 0;   // of the whole run
  int64_t steps_done = 0;  // before
  int64_t samples_per_step = 0;
  std::string units;
};

struct EndOfEpoch {
  int64_t step = 0;   // done in the run
  int64_t epoch = 0;  // counted from 1
  int64_t num_epochs = 0;
  double train_loss = 0;
  double lr = 0;
  double units_per_second = 0;
  double data_wait_share = 0;
  int64_t num_skipped = 0;  // steps left out because of an overflow
  double seconds = 0;
  std::string units;
};

struct EndOfRun {
  std::string state;        // see above
  int64_t epochs_done = 0;  // by this call
  std::string best_metric;
  double best = 0;
  int64_t best_epoch = 0;  // 0: no epoch was validated
  EvalResult last;
  double units_per_second = 0;
  double data_wait_share = 0;
  double seconds = 0;
  std::string checkpoint;
  std::string units;
};

std::string progress_json(const StartOfRun& start);
std::string progress_json(const EndOfEpoch& epoch);
std::string progress_json(const EndOfRun& end);
std::string progress_json(const EvalResult& result, const std::string& units);

// Writes `object` as a line, for whoever reads along.
void print_progress(std::FILE* to, const std::string& object);

}  // namespace ffkit
