// What is asked of a place: reader/random_reader.h.
#pragma once

#include "storage/reader/random_reader.h"
