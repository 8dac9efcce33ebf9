// The wheel of libtorch includes this header but does not bring it; nothing of it is used here.
#pragma once
