/* An application of FreeRTOS with eleven tasks, two interrupts of its own, and all that tasks wait
   for: queues, a counting semaphore, a mutex with priority inheritance, notifications, an event
   group, a stream buffer, a timer, delays, a task that is made and deleted for ever. What they
   compute is a load like CoreMark's: a checksum, a matrix, a list. Each task counts what it did, on
   the UART or in counts.txt, against which tools/dev/embedded.sh compares the trace.
   -DSTREAM: a live raw stream on the UART, by a task of its own. Else the trace goes to trace.json.
   -DWITHOUT_PROF: the same without prof.h, for its cost. */
#include "FreeRTOS.h"
#include "event_groups.h"
#include "queue.h"
#include "semphr.h"
#include "stream_buffer.h"
#include "task.h"
#include "timers.h"

#include "examples/baremetal/board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define VECTORS 48

#ifdef WITHOUT_PROF
#  define PROF_BLOCK(name)
#  define PROF_KERNEL_STACKS() ((void)0)
#endif

enum { ADC, FILTER, CONTROL, LOG, DISPLAY, MODE, LINK, TICKER, CHILD, TIMER, ISR, ZONES };
static const char *const names[ZONES] = {
    "adc", "filter", "control", "log", "display", "mode", "link", "ticker", "child", "timer", "isr"
};
static volatile uint32_t counts[ZONES];
static volatile uint32_t sum;
static QueueHandle_t rx, tx;
static SemaphoreHandle_t conversions, bus;
static EventGroupHandle_t modes;
static StreamBufferHandle_t bytes;
static TaskHandle_t logger;

/* One begin and end of a zone, and the count beside it. */
#define ZONE(zone, name) for (int once = (counts[zone]++, 1); once; once = 0) PROF_BLOCK(name)

/* ---- the load ---- */

typedef struct item { struct item *next; uint32_t value; } item;

static uint32_t checksum(uint32_t value, uint32_t crc) {
    for (int bit = 0; bit < 16; bit++, value >>= 1)
        crc = ((value ^ crc) & 1) ? crc >> 1 ^ 0xA001u : crc >> 1;
    return crc;
}

static uint32_t matrix(uint32_t seed) {
    enum { SIDE = 6 };
    uint32_t a[SIDE][SIDE], crc = 0;
    for (uint32_t i = 0; i < SIDE * SIDE; i++) a[i / SIDE][i % SIDE] = seed * (i + 1) & 0xff;
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++) {
            uint32_t of = 0;
            for (int j = 0; j < SIDE; j++) of += a[i][j] * a[j][k];
            crc = checksum(of, crc);
        }
    return crc;
}

static uint32_t list(uint32_t seed) {
    item items[16], *first = NULL;
    uint32_t crc = 0;
    for (uint32_t i = 0; i < 16; i++) {
        item **at = &first;
        items[i].value = seed * 7919u * (i + 1) & 0xffff;
        while (*at && (*at)->value < items[i].value) at = &(*at)->next;
        items[i].next = *at;
        *at = &items[i];
    }
    for (const item *i = first; i; i = i->next) crc = checksum(i->value, crc);
    return crc;
}

static void work(uint32_t rounds) {
    for (uint32_t i = 1; i <= rounds; i++) sum = sum + matrix(i) + list(i);
}

/* ---- the tasks ---- */

static void adc_task(void *unused) {     /* what the interrupt gives, as the most urgent task */
    (void)unused;
    for (uint32_t sample = 0;; sample++) {
        xSemaphoreTake(conversions, portMAX_DELAY);
        ZONE(ADC, "adc") {
            work(1);
            xQueueSend(rx, &sample, 0);
        }
    }
}

static void filter_task(void *unused) {
    uint32_t sample;
    (void)unused;
    for (;;) {
        xQueueReceive(rx, &sample, portMAX_DELAY);
        ZONE(FILTER, "filter") {
            work(2);
            xQueueSend(tx, &sample, portMAX_DELAY);
        }
    }
}

static void control_task(void *unused) {
    uint32_t sample;
    (void)unused;
    for (;;) {
        if (!xQueueReceive(tx, &sample, 3)) continue;
        ZONE(CONTROL, "control") {
            xSemaphoreTake(bus, portMAX_DELAY);
            work(3);
            xSemaphoreGive(bus);
            xTaskNotifyGive(logger);
            if (sample % 8 == 0) xEventGroupSetBits(modes, 1);
            xStreamBufferSend(bytes, &sample, sizeof sample, 0);
        }
    }
}

static void log_task(void *unused) {
    (void)unused;
    for (;;) {
        ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        ZONE(LOG, "log") work(1);
    }
}

static void display_task(void *unused) { /* holds the bus for long, as the least urgent */
    (void)unused;
    for (;;) {
        vTaskDelay(7);
        ZONE(DISPLAY, "display") {
            xSemaphoreTake(bus, portMAX_DELAY);
            work(120);
            xSemaphoreGive(bus);
        }
    }
}

static void mode_task(void *unused) {
    (void)unused;
    for (;;) {
        xEventGroupWaitBits(modes, 1, pdTRUE, pdFALSE, portMAX_DELAY);
        ZONE(MODE, "mode") work(2);
    }
}

static void link_task(void *unused) {
    uint8_t data[16];
    (void)unused;
    for (;;) {
        if (!xStreamBufferReceive(bytes, data, sizeof data, 5)) continue;
        ZONE(LINK, "link") work(1);
    }
}

static void ticker_task(void *unused) {
    TickType_t last = xTaskGetTickCount();
    (void)unused;
    for (;;) {
        vTaskDelayUntil(&last, 10);
        ZONE(TICKER, "ticker") work(1);
    }
}

static void child_task(void *unused) {   /* the odd ones end by themselves */
    (void)unused;
    ZONE(CHILD, "child") work(1);
    if (counts[CHILD] & 1) vTaskDelete(NULL);
    vTaskDelay(portMAX_DELAY);           /* the others are deleted while they wait */
}

static void parent_task(void *unused) {
    (void)unused;
    for (;;) {
        TaskHandle_t child;
        uint32_t before = counts[CHILD];
        xTaskCreate(child_task, "child", 128, NULL, 2, &child);
        vTaskDelay(5);
        if (counts[CHILD] != before && !(counts[CHILD] & 1)) vTaskDelete(child);
        while (counts[CHILD] == before) vTaskDelay(1);
    }
}

static void on_timer(TimerHandle_t timer) {
    (void)timer;
    ZONE(TIMER, "timer") work(1);
}

/* ---- the interrupts ---- */

void SVC_Handler(void);
void PendSV_Handler(void);
void SysTick_Handler(void);
void board_on_timer(void) { SysTick_Handler(); }

/* TIMER0 of the MPS2: a conversion is done. */
static void on_conversion(void) {
    BaseType_t woken = pdFALSE;
    REGISTER(0x4000000C) = 1;
    ZONE(ISR, "isr") xSemaphoreGiveFromISR(conversions, &woken);
    portYIELD_FROM_ISR(woken);
}

static void start_interrupts(void) {
    static void (*vectors[VECTORS])(void) __attribute__((aligned(256)));
    for (unsigned i = 0; i < 16; i++) vectors[i] = *(void (*const *)(void))(uintptr_t)(i * 4);
    vectors[11] = SVC_Handler;
    vectors[14] = PendSV_Handler;
    vectors[15] = SysTick_Handler;
    vectors[16 + 8] = on_conversion;
    REGISTER(0xE000ED08) = (uint32_t)(uintptr_t)vectors;
    REGISTER(0xE000E408) = 128;                  /* its priority: below what masks interrupts */
    REGISTER(0xE000E100) = 1u << 8;
    REGISTER(0x40000008) = 25000 * 3 / 2;        /* 1.5 ms at 25 MHz */
    REGISTER(0x40000004) = REGISTER(0x40000008);
    REGISTER(0x40000000) = 9;
}

/* ---- the one that records ---- */

static void say(const char *name, uint32_t n) {
    char text[12], *p = text + sizeof text;
    size_t length = 0;
    *--p = '\n';
    do *--p = (char)('0' + n % 10);
    while (n /= 10);
    *--p = ' ';
    while (name[length]) length++;
    board_file(NULL, name, length);
    board_file(NULL, p, (size_t)(text + sizeof text - p));
}

#ifndef WITHOUT_PROF
prof_result prof_write_contexts(const prof_trace *trace, prof_sink out);
static uint32_t began;
#  define ELAPSED_US() ((*(volatile uint32_t *)BOARD_CLOCK_AT - began) / (BOARD_HZ / 1000000))

static bool start(void) {
    prof_desc desc = { 0 };
    static uint64_t memory[PROF_ARENA_SIZE / 8];
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.platform.ticks_per_second = BOARD_HZ;
    desc.max_depth = 8;
#  ifdef STREAM
    desc.mode = PROF_MODE_STREAM;
    desc.stream.write = board_uart;
#  endif
    began = *(volatile uint32_t *)BOARD_CLOCK_AT;
    return prof_start(&desc) == PROF_OK;
}

static void finish(void) {
    uint32_t elapsed = ELAPSED_US();
    prof_trace *trace = prof_stop();
    prof_stats stats = prof_get_stats(trace);
#  ifndef STREAM
    prof_sink uart = { board_uart, NULL }, to_file = { board_file, NULL };
    prof_write_table(trace, NULL, uart);
    prof_write_contexts(trace, uart);
    board_file_open("trace.json");
    prof_write_chrome(trace, NULL, to_file);
    board_file_close();
#  endif
    board_file_open("counts.txt");
    for (int i = 0; i < ZONES; i++) say(names[i], counts[i]);
    say("@elapsed", elapsed);
    say("=dropped", (uint32_t)(stats.dropped + stats.dropped_threads));
    say("=unbalanced", (uint32_t)(stats.unbalanced + stats.healed));
}
#else
static bool start(void) { return true; }
static bool prof_flush(void) { return true; }
static void finish(void) {
    board_file_open("counts.txt");
    for (int i = 0; i < ZONES; i++) say(names[i], counts[i]);
}
#endif

static void record_task(void *unused) {
    (void)unused;
    if (!start()) board_exit(2);
    for (uint32_t i = 0; i < 100; i++) {         /* of 2 ms */
        if (i % 20 == 0) PROF_KERNEL_STACKS();
        (void)prof_flush();
        vTaskDelay(2);
    }
    vTaskSuspendAll();
    __asm__ volatile("cpsid i" : : : "memory");
    finish();
    board_file_close();
    board_exit(0);
}

int main(void) {
    static const struct { void (*run)(void *); const char *name; UBaseType_t priority; } tasks[] = {
        { adc_task, "adc", 6 }, { filter_task, "filter", 4 }, { control_task, "control", 4 },
        { log_task, "log", 2 }, { display_task, "display", 1 }, { mode_task, "mode", 3 },
        { link_task, "link", 2 }, { ticker_task, "ticker", 3 }, { parent_task, "parent", 2 },
        { record_task, "record", 5 }
    };
    rx = xQueueCreate(4, sizeof(uint32_t));
    tx = xQueueCreate(2, sizeof(uint32_t));
    conversions = xSemaphoreCreateCounting(8, 0);
    bus = xSemaphoreCreateMutex();
    modes = xEventGroupCreate();
    bytes = xStreamBufferCreate(64, 4);
    vQueueAddToRegistry(rx, "rx");
    vQueueAddToRegistry(bus, "bus");
    vQueueAddToRegistry(conversions, "conversions");
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (xTaskCreate(tasks[i].run, tasks[i].name, 320, NULL, tasks[i].priority,
                        tasks[i].run == log_task ? &logger : NULL) != pdPASS) return 3;
    xTimerStart(xTimerCreate("blink", 11, pdTRUE, NULL, on_timer), 0);
    start_interrupts();
    vTaskStartScheduler();
    return 4;
}
