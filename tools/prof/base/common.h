/* What every command uses. */
#ifndef PROF_TOOL_COMMON_H
#define PROF_TOOL_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "prof.h"
#include "base/errors.h"
#include "base/files.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/table.h"
#include "base/text.h"

#endif
