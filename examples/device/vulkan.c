/* Shows: what Vulkan's command buffers do in prof.h's tables and traces. Copy vulkan_...: a query
   pool gets a time before and behind each piece of work, all of which are there once it is done.

   cc -std=c99 -O2 -I. examples/device/vulkan.c examples/prof.c -o vulkan -lvulkan -lpthread
   ./vulkan trace.json */
#include <stdio.h>
#include <vulkan/vulkan.h>

#include "prof.h"

enum { LAUNCHES = 64, SIZE = 16 << 20 };   /* in a command buffer; bytes */
static struct {
    VkPhysicalDevice gpu;
    VkDevice device;
    VkQueue queue;
    VkCommandBuffer commands;
    VkQueryPool times;
    VkBuffer buffer;
    PFN_vkGetCalibratedTimestampsEXT now;
    uint32_t row, count;                 /* row: prof_queue's; launches in the command buffer */
    uint64_t tokens[LAUNCHES], ticks;    /* ticks: of all, as Vulkan tells them */
} vk;
static const prof_device vulkan = { PROF_DEVICE_VULKAN, 0 };

static void vulkan_begin(const char *name) {
    vk.tokens[vk.count] = prof_launch(vk.row, name);
    vkCmdWriteTimestamp(vk.commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, vk.times, 2 * vk.count);
}

static void vulkan_end(void) {
    vkCmdWriteTimestamp(vk.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, vk.times,
                        2 * vk.count++ + 1);
}

/* Once the queue has done them. */
static void vulkan_done(void) {
    uint64_t at[2 * LAUNCHES];
    vkGetQueryPoolResults(vk.device, vk.times, 0, 2 * vk.count, sizeof at, at, sizeof *at,
                          VK_QUERY_RESULT_64_BIT);
    for (uint32_t i = 0; i < vk.count; i++) {
        prof_launch_done(vk.tokens[i], at[2 * i], at[2 * i + 1]);
        vk.ticks += at[2 * i + 1] - at[2 * i];
    }
    vk.count = 0;
}

/* The device's clock, in ticks of any length. */
static bool vulkan_now(void *user, uint64_t *ticks) {
    const VkCalibratedTimestampInfoEXT clock = {
        VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, NULL, VK_TIME_DOMAIN_DEVICE_EXT };
    uint64_t error;
    (void)user;
    return vk.now(vk.device, 1, &clock, ticks, &error) == VK_SUCCESS;
}

static prof_result vulkan_pair(void *user) {
    prof_clock_pair pair = prof_pair_clocks(vulkan_now, user);
    if (pair.device_ns) prof_device_clock(vulkan, pair.session_ns, pair.device_ns);
    return PROF_OK;
}

static prof_result vulkan_join(void) {
    const prof_device_desc desc = {
        "Vulkan", PROF_DEVICE_VULKAN, PROF_ACTIVITY_PRIVATEUSE1, NULL, vulkan_pair, vulkan_pair,
        NULL, NULL, NULL, NULL };   /* as a session starts, and as it stops */
    vk.row = prof_queue(vulkan, "graphics and compute");
    return prof_add_device(&desc);
}

/* ---- a program of Vulkan's ---- */

static bool memory(void) {
    VkBufferCreateInfo made = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = SIZE,
                                .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_DST_BIT };
    VkMemoryAllocateInfo wanted = { VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, SIZE, 0 };
    VkDeviceMemory bytes;
    return vkCreateBuffer(vk.device, &made, NULL, &vk.buffer) == VK_SUCCESS &&
           vkAllocateMemory(vk.device, &wanted, NULL, &bytes) == VK_SUCCESS &&
           vkBindBufferMemory(vk.device, vk.buffer, bytes, 0) == VK_SUCCESS;
}

static bool prepare(void) {
    static const char *const extra = "VK_EXT_calibrated_timestamps";
    const float priority = 1;
    VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                              .apiVersion = VK_API_VERSION_1_1 };
    VkInstanceCreateInfo made = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pApplicationInfo = &app };
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueCount = 1, .pQueuePriorities = &priority };
    VkDeviceCreateInfo device = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                  .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue,
                                  .enabledExtensionCount = 1, .ppEnabledExtensionNames = &extra };
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT };
    VkQueryPoolCreateInfo times = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = 2 * LAUNCHES };
    VkCommandBufferAllocateInfo buffer = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandBufferCount = 1 };
    VkInstance instance;
    uint32_t one = 1;
    if (vkCreateInstance(&made, NULL, &instance) != VK_SUCCESS ||
        vkEnumeratePhysicalDevices(instance, &one, &vk.gpu) < 0 || !one ||
        vkCreateDevice(vk.gpu, &device, NULL, &vk.device) != VK_SUCCESS) return false;
    vkGetDeviceQueue(vk.device, 0, 0, &vk.queue);
    vk.now = (PFN_vkGetCalibratedTimestampsEXT)vkGetDeviceProcAddr(vk.device,
                                                                  "vkGetCalibratedTimestampsEXT");
    return vk.now && memory() &&
           vkCreateCommandPool(vk.device, &pool, NULL, &buffer.commandPool) == VK_SUCCESS &&
           vkCreateQueryPool(vk.device, &times, NULL, &vk.times) == VK_SUCCESS &&
           vkAllocateCommandBuffers(vk.device, &buffer, &vk.commands) == VK_SUCCESS;
}

static void step(void) {
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                            .pCommandBuffers = &vk.commands };
    VkBufferCopy half = { 0, SIZE / 2, SIZE / 2 };
    vkBeginCommandBuffer(vk.commands, &begin);
    vkCmdResetQueryPool(vk.commands, vk.times, 0, 2 * LAUNCHES);
    PROF_BLOCK("clear") {
        vulkan_begin("fill");
        vkCmdFillBuffer(vk.commands, vk.buffer, 0, SIZE, 42);
        vulkan_end();
    }
    PROF_BLOCK("move") {
        vulkan_begin("copy");
        vkCmdCopyBuffer(vk.commands, vk.buffer, vk.buffer, 1, &half);
        vulkan_end();
    }
    vkEndCommandBuffer(vk.commands);
    vkQueueSubmit(vk.queue, 1, &submit, VK_NULL_HANDLE);
    PROF_BLOCK("wait") vkQueueWaitIdle(vk.queue);
    vulkan_done();
}

int main(int argc, char **argv) {
    VkPhysicalDeviceProperties told;
    prof_trace *trace;
    if (!prepare()) return puts("there is no Vulkan with calibrated timestamps here") < 0;
    if (vulkan_join() != PROF_OK || prof_start(NULL) != PROF_OK) return 1;
    for (int i = 0; i < 10; i++) PROF_BLOCK("step") step();
    trace = prof_stop();
    prof_print_table(trace, NULL);
    vkGetPhysicalDeviceProperties(vk.gpu, &told);
    printf("Vulkan's own sum: %.3f us\n", (double)vk.ticks * told.limits.timestampPeriod / 1e3);
    return prof_save_chrome(trace, argc > 1 ? argv[1] : "trace.json") != PROF_OK;
}
