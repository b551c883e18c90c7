/* Names of zones that a target leaves in its ELF file (PROF_NAMES_IN_ELF): of any machine's, 32 or
   64 bits, either byte order; and of a Cortex-M's interrupt handlers. The file may hold anything.

       elf_names *elf = elf_open(path);
       desc.elf_site = ..., which calls elf_site(elf, at, build, site);
       elf_close(elf);                                                                          */
#ifndef PROF_TOOL_ELF_NAMES_H
#define PROF_TOOL_ELF_NAMES_H

#include "base/common.h"

typedef struct elf_names elf_names;

elf_names *elf_open(const char *path);           /* NULL: it has reported why */
/* build: the stream's; NULL: it told none. false: it is another build's, told once, or there is no
   site at that offset. The texts last as long as the file is open. */
bool elf_site(elf_names *elf, uint32_t at, const char *build, prof_site *site);
/* The function in a Cortex-M's vector table for exception n. false: none, or several have it. */
enum { ELF_LONGEST_NAME = 80 };
bool elf_handler(const elf_names *elf, size_t n, char name[ELF_LONGEST_NAME]);
/* At the end warns of what in it cannot be. true: names are missing for that, or as it is another
   build's. */
bool elf_tell(const elf_names *elf);
void elf_close(elf_names *elf);                  /* NULL: nothing */

#endif
