// What most tests of the format start with.
#pragma once

#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>
#include <ffkit/format/shard_writer.h>

#include "test_prelude.h"
