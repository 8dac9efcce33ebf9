// What most tests of loaders start with.
#pragma once

#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/loader/loader.h>
#include <ffkit/loader/sampler.h>

#include "collect_epoch.h"
#include "make_dataset.h"
#include "test_prelude.h"

namespace ffkit {

using testing::collect_epoch;
using testing::CollectedBatch;
using testing::make_dataset;

}  // namespace ffkit
