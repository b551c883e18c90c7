/* What every command uses. */
#ifndef PROF_TOOL_COMMON_H
#define PROF_TOOL_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../../prof.h"
#include "containers.h"
#include "errors.h"
#include "files.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "table.h"
#include "text.h"

#endif
