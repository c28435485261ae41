// SPDX-License-Identifier: Apache-2.0
// Everything public in one include.
#pragma once

#include "thresher/checkpoint.hpp"
#include "thresher/engine.hpp"
#include "thresher/error.hpp"
#include "thresher/moe.hpp"
#include "thresher/nvfp4.hpp"
#include "thresher/problem.hpp"
