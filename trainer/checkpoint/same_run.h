// Processes that were started for different runs would wait for each other's answers, or take them
// for their own. All functions are collective, and do nothing in a world of one.
#pragma once

#include <string>
#include <vector>

#include <ffkit/trainer/train_options.h>

#include "distributed/communicator.h"

namespace ffkit {

// Throws Error(invalid_argument) on every rank unless all have rank 0's options; which one differs
// is said by the rank where it does. What concerns one machine may differ: numbers of threads, the
// device, where the data lies, which work folder it is. `given`: the names of the options that
// count; null: all of them.
void check_same_options(Communicator& communicator, const TrainOptions& options,
                        const std::vector<std::string>* given = nullptr);

// The same for the content of the data set, by its fingerprint.
void check_same_data(Communicator& communicator, const std::string& fingerprint,
                     const DataFolders& data);

// The same for the order of the training samples (LoaderState::order). It may follow from where the
// data lies: ranks in different orders would take some samples twice and others never.
void check_same_order(Communicator& communicator, const std::string& order);

}  // namespace ffkit
