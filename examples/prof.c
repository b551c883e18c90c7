/* The implementation of prof.h, compiled once: a program has it in one of its files. The examples
   that include prof.h alone are linked to this; hello, images and baremetal bring their own. */
#define PROF_IMPLEMENTATION
#include "prof.h"
