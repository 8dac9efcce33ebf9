// libtorch's headers include this one, which PyPI brings in packages of hundreds of megabytes. The
// module of NCCL calls nothing of it: types that functions of libtorch's name are enough.
#pragma once

enum cusolverStatus_t : int;
