/* Peaks of devices: dense (no sparsity), in TFLOP/s and GB/s, at boost clock, as their makers give
   them. Columns: FP64, FP32, TF32, BF16, FP16, FP8, INT8. Matrix units count where they take the
   type (FP64 and FP32 of AMD, FP64 of NVIDIA from A100 on). BF16 and FP16 of GeForce: with FP32
   accumulation, as PyTorch uses them. What a maker gives only with sparsity is halved. */
#include "analysis/amounts.h"

#include <stdlib.h>
#include <string.h>

#define TFLOPS(fp64, fp32, tf32, bf16, fp16, fp8, int8) {0, fp64, fp32, tf32, bf16, fp16, fp8, int8}

/* The first whose name is part of the device's: special ones before general ones. */
static const device_peak peaks[] = {
    /* NVIDIA GB300 NVL72 page: per GPU, 1/72 of the rack; HGX B300: 1/8; halved where sparse */
    {"GB300", TFLOPS(1.3, 80, 1250, 2500, 2500, 5000, 165), 8000, 0, 0},
    {"B300", TFLOPS(1.25, 75, 1125, 2250, 2250, 4500, 150), 7700, 0, 0},
    /* NVIDIA GB200 NVL72 page: per GPU, 1/72 of the rack, halved where sparse */
    {"GB200", TFLOPS(40, 80, 1250, 2500, 2500, 5000, 5000), 8000, 0, 0},
    /* NVIDIA HGX B200 datasheet: 1/8 of the board, halved where sparse */
    {"B200", TFLOPS(37, 75, 1125, 2250, 2250, 4500, 4500), 7700, 0, 0},
    /* NVIDIA H200 datasheet: NVL and SXM columns, halved where sparse */
    {"H200 NVL", TFLOPS(60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5), 4800, 0, 0},
    {"GH200 144G", TFLOPS(67, 67, 494.5, 989.5, 989.5, 1979, 1979), 4900, 0, 0},
    {"GH200", TFLOPS(67, 67, 494.5, 989.5, 989.5, 1979, 1979), 4000, 0, 0},
    {"H200", TFLOPS(67, 67, 494.5, 989.5, 989.5, 1979, 1979), 4800, 0, 0},
    /* NVIDIA H100 datasheet: NVL, PCIe (2022) and SXM columns, halved where sparse */
    {"H100 NVL", TFLOPS(60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5), 3900, 0, 0},
    {"H100 PCIe", TFLOPS(51, 51, 378, 756, 756, 1513, 1513), 2000, 0, 0},
    {"H100", TFLOPS(67, 67, 494.5, 989.5, 989.5, 1979, 1979), 3350, 0, 0},
    /* NVIDIA H20 (96 and 141 GB), H800 and A800 datasheets; H800 is an H100 without its FP64 */
    {"H20-3e", TFLOPS(1, 44, 74, 148, 148, 296, 296), 4800, 0, 0},
    {"H20", TFLOPS(1, 44, 74, 148, 148, 296, 296), 4800, 0, 120},
    {"H20", TFLOPS(1, 44, 74, 148, 148, 296, 296), 4000, 0, 0},
    {"H800 PCIe", TFLOPS(0.8, 51, 378, 756, 756, 1513, 1513), 2000, 0, 0},
    {"H800", TFLOPS(1, 67, 494.5, 989.5, 989.5, 1979, 1979), 3350, 0, 0},
    {"A800 80GB PCIe", TFLOPS(19.5, 19.5, 156, 312, 312, 0, 624), 1935, 0, 0},
    {"A800", TFLOPS(19.5, 19.5, 156, 312, 312, 0, 624), 2039, 0, 60},
    {"A800", TFLOPS(19.5, 19.5, 156, 312, 312, 0, 624), 1555, 0, 0},
    /* NVIDIA A100 datasheet (2021): 80GB PCIe, 80GB SXM; A100 whitepaper: 40GB */
    {"A100 80GB PCIe", TFLOPS(19.5, 19.5, 156, 312, 312, 0, 624), 1935, 0, 0},
    {"A100", TFLOPS(19.5, 19.5, 156, 312, 312, 0, 624), 2039, 0, 60},
    {"A100", TFLOPS(19.5, 19.5, 156, 312, 312, 0, 624), 1555, 0, 0},
    /* NVIDIA A30, A10, A40, RTX A6000 datasheets */
    {"A30", TFLOPS(10.3, 10.3, 82, 165, 165, 0, 330), 933, 0, 0},
    {"A10G", TFLOPS(0, 35, 70, 70, 70, 0, 140), 600, 0, 0},   /* AWS g5: 70 FP16 of the A10G */
    {"A10", TFLOPS(0, 31.2, 62.5, 125, 125, 0, 250), 600, 0, 0},
    {"A40", TFLOPS(0, 37.4, 74.8, 149.7, 149.7, 0, 299.3), 696, 0, 0},
    {"RTX A6000", TFLOPS(0, 38.7, 77.4, 154.8, 154.8, 0, 309.7), 768, 0, 0},
    /* NVIDIA RTX PRO 6000 Blackwell datasheets (server, Max-Q, workstation), RTX 6000 Ada */
    {"RTX PRO 6000 Blackwell Server", TFLOPS(1.9, 120, 250, 500, 500, 1000, 1000), 1597, 0, 0},
    {"Blackwell Max-Q", TFLOPS(1.7, 110, 219.4, 438.9, 438.9, 877.7, 877.7), 1792, 0, 0},
    {"RTX PRO 6000", TFLOPS(2, 125, 250, 500, 500, 1000, 1000), 1792, 0, 0},
    {"RTX 6000 Ada", TFLOPS(1.4, 91.1, 182.1, 364.2, 364.2, 728.5, 728.5), 960, 0, 0},
    /* NVIDIA L40S, L40, L20, L4 datasheets, halved where sparse */
    {"L40S", TFLOPS(0, 91.6, 183, 362, 362, 733, 733), 864, 0, 0},
    {"L40", TFLOPS(0, 90.5, 90.5, 181, 181, 362, 362), 864, 0, 0},
    {"L20", TFLOPS(0.9, 59.8, 59.8, 119.5, 119.5, 239, 239), 864, 0, 0},
    {"L4", TFLOPS(0, 30.3, 60, 121, 121, 242.5, 242.5), 300, 0, 0},
    /* NVIDIA V100 and V100S datasheets, T4: Turing whitepaper, P100 datasheet (SXM2) */
    {"V100S", TFLOPS(8.2, 16.4, 0, 0, 130, 0, 0), 1134, 0, 0},
    {"V100-PCIE", TFLOPS(7, 14, 0, 0, 112, 0, 0), 900, 0, 0},
    {"V100", TFLOPS(7.8, 15.7, 0, 0, 125, 0, 0), 900, 0, 0},
    {"T4", TFLOPS(0, 8.1, 0, 0, 65, 0, 130), 320, 0, 0},
    {"P100", TFLOPS(5.3, 10.6, 0, 0, 21.2, 0, 0), 732, 0, 0},
    /* RTX 50 laptops: NVIDIA's comparison of GeForce laptops, AI TOPS (sparse FP4 at the highest
       power) divided as the whitepaper's: INT8 1/4, FP8 1/8, BF16 1/16, FP32 1/32; GB/s by the
       width and rate of the memory there */
    {"RTX 5090 Laptop", TFLOPS(0.9, 57, 57, 114, 114, 228, 456), 896, 0, 0},
    {"RTX 5080 Laptop", TFLOPS(0.7, 41.7, 41.7, 83.4, 83.4, 166.8, 333.5), 896, 0, 0},
    {"RTX 5070 Ti Laptop", TFLOPS(0.5, 31, 31, 62, 62, 124, 248), 672, 0, 0},
    {"RTX 5070 Laptop", TFLOPS(0.4, 24.9, 24.9, 49.9, 49.9, 99.8, 199.5), 384, 0, 0},
    {"RTX 5060 Laptop", TFLOPS(0.3, 17.9, 17.9, 35.8, 35.8, 71.5, 143), 384, 0, 0},
    /* NVIDIA whitepapers of GeForce: Blackwell (5090, 5080, 5070 Ti, 5070; the 5060s by NVIDIA's
       comparison of GeForce, AI TOPS divided so, and cores at boost clock), Ada, GA102 (3090),
       Turing (2080 Ti FE) */
    {"RTX 5090", TFLOPS(1.6, 104.8, 104.8, 209.5, 209.5, 419, 838), 1792, 0, 0},
    {"RTX 5080", TFLOPS(0.9, 56.3, 56.3, 112.6, 112.6, 225.1, 450.2), 960, 0, 0},
    {"RTX 5070 Ti", TFLOPS(0.7, 43.9, 43.9, 87.9, 87.9, 175.8, 351.5), 896, 0, 0},
    {"RTX 5070", TFLOPS(0.5, 30.9, 30.9, 61.7, 61.7, 123.5, 246.9), 672, 0, 0},
    {"RTX 5060 Ti", TFLOPS(0.4, 23.7, 23.7, 47.4, 47.4, 94.9, 189.8), 448, 0, 0},
    {"RTX 5060", TFLOPS(0.3, 19.2, 19.2, 38.4, 38.4, 76.8, 153.5), 448, 0, 0},
    {"RTX 4090", TFLOPS(1.3, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6), 1008, 0, 0},
    {"RTX 3090", TFLOPS(0.6, 35.6, 35.6, 71, 71, 0, 284), 936, 0, 0},
    {"RTX 2080 Ti", TFLOPS(0.4, 14.2, 0, 0, 56.9, 0, 227.7), 616, 0, 0},
    /* AMD Instinct datasheets; MI250 and MI250X are two devices, each with half of the units */
    {"MI355X", TFLOPS(78.6, 157.3, 0, 2516.6, 2516.6, 5033.2, 5033.2), 8000, 256, 0},
    {"MI350X", TFLOPS(72.1, 144.2, 0, 2306.9, 2306.9, 4613.7, 4613.7), 8000, 256, 0},
    {"MI350", TFLOPS(72.1, 144.2, 0, 2306.9, 2306.9, 4613.7, 4613.7), 8000, 256, 0},
    {"MI325X", TFLOPS(163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9), 6000, 304, 0},
    {"MI300X", TFLOPS(163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9), 5300, 304, 0},
    /* no datasheet of it is public: what each CU of the MI300X does, for 80 at 1.42 GHz */
    {"MI308X", TFLOPS(29.1, 29.1, 116.3, 232.7, 232.7, 465.3, 465.3), 5300, 80, 0},
    {"MI300A", TFLOPS(122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 1961.2), 5300, 228, 0},
    {"MI300", TFLOPS(163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9), 5300, 304, 0},
    {"MI250X", TFLOPS(95.7, 95.7, 0, 383, 383, 0, 383), 3277, 220, 0},
    {"MI250", TFLOPS(90.5, 90.5, 0, 362.1, 362.1, 0, 362.1), 3277, 208, 0},
    {"MI210", TFLOPS(45.3, 45.3, 0, 181, 181, 0, 181), 1638, 104, 0},
    {"MI100", TFLOPS(11.5, 46.1, 0, 92.3, 184.6, 0, 184.6), 1229, 120, 0}
};

/* Is it part of name as a word, so that "L4" is not found in "L40"? */
static bool has_word(const char *name, const char *word) {
    size_t size = strlen(word);
    for (const char *p = name; (p = strstr(p, word)); p++) {
        char before = p > name ? p[-1] : ' ', after = p[size];
        bool part = (before >= 'A' && before <= 'Z') || (after >= '0' && after <= '9') ||
                    (after >= 'A' && after <= 'Z');
        if (!part) return true;
    }
    return false;
}

/* Of a name such as "A100-SXM4-80GB"; 0: it tells none. */
static double memory_in_name(const char *name) {
    for (const char *p = name; (p = strstr(p, "GB")); p++) {
        const char *begin = p;
        while (begin > name && begin[-1] >= '0' && begin[-1] <= '9') begin--;
        if (begin < p) return strtod(begin, NULL);
    }
    return 0;
}

bool device_find(const char *name, int64_t units, int64_t memory, device_peak *peak) {
    double gb = memory > 0 ? (double)memory * 1e-9 : memory_in_name(name);
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++) {
        if (!has_word(name, peaks[i].name) || gb < peaks[i].min_gb) continue;
        *peak = peaks[i];
        if (units == 0 || units * 2 != peak->units) return true;
        for (int type = 0; type < DTYPE_PEAKS; type++) peak->tflops[type] /= 2;
        peak->gb_s /= 2;
        return true;
    }
    return false;
}
