/* ELF files with names of zones (tools/prof/input/elf_names.h): whatever the file holds, each place
   in it has a site whose texts end, or none. */
#include "fuzz.h"
#include "../../tools/prof/input/elf_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char path[] = "fuzz_input.elf";
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) fuzz_crash("no file");
    elf_names *elf = elf_open(path);
    inputs_forget();
    if (!elf) return 0;
    size_t all = 0;
    prof_site site;
    for (uint32_t at = 0; at < size + 2; at++)
        if (elf_site(elf, at, NULL, &site)) all += strlen(site.name) + strlen(site.file);
    elf_site(elf, UINT32_MAX, NULL, &site);
    if (all > size * size) fuzz_crash("texts that do not end");
    elf_site(elf, 0, "0123", &site);
    if (elf_site(elf, 0, NULL, &site)) fuzz_crash("another build's names");
    elf_close(elf);
    return 0;
}
