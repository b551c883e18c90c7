/* Tasks of FreeRTOS (V10, V11; one core): include it at the end of FreeRTOSConfig.h, which needs
   configUSE_TRACE_FACILITY 1 for the tasks' numbers. Nothing else is to be done.
   - Each task is a row of its own, "CPU" the row of who ran.
   - Queues, semaphores, mutexes, timers, what tasks wait for and who makes them ready: objects.h
     says how they are told. vQueueAddToRegistry gives a queue its name.
     PROF_KERNEL_NO_OBJECTS leaves all that out.
   - PROF_KERNEL_STACKS() in a task of low priority records how much of each task's stack was never
     used: counters "stack NAME", in bytes.
   - The tick keeps the clock's wraps counted: prof_tick() need not be called elsewhere.
   The kernel's numbers for trace tools (uxTaskNumber, uxQueueNumber, uxTimerNumber) are taken. A
   port of several cores (configNUMBER_OF_CORES above 1) is refused: which core a hook runs on is
   not told to a recorder that masks interrupts of one. In builds with an OS (the POSIX port) tasks
   are threads, and no switches are recorded. */
#ifndef PROF_KERNEL_FREERTOS_H
#define PROF_KERNEL_FREERTOS_H

#ifndef __ASSEMBLER__                    /* some ports include the configuration from assembler */
#include "prof.h"

#if defined(configNUMBER_OF_CORES) && configNUMBER_OF_CORES > 1
#  error "prof.h records the tasks of one core"
#endif
#if !defined(configUSE_TRACE_FACILITY) || !configUSE_TRACE_FACILITY
#  error "prof.h needs configUSE_TRACE_FACILITY 1, for the tasks' numbers"
#endif

#if PROF__BARE
/* Each 64th tick: a half wrap of a 1 GHz clock is 2147 ticks of 1 ms. systick.h needs each. */
#  ifndef PROF_KERNEL_TICKS
#    define PROF_KERNEL_TICKS 64
#  endif
#  define traceTASK_INCREMENT_TICK(count) do { \
       if ((count) % PROF_KERNEL_TICKS == 0) prof_tick(); \
   } while (0)
#endif

#ifdef PROF_KERNEL_NO_INSTANTS
#  error "PROF_KERNEL_NO_INSTANTS is PROF_KERNEL_NO_OBJECTS now"
#endif
#if defined(PROF_KERNEL_NO_OBJECTS) || defined(PROF_DISABLE)
#  define traceTASK_SWITCHED_IN() prof_task_in(pxCurrentTCB->uxTCBNumber, pxCurrentTCB->pcTaskName)
#  define traceTASK_DELETE(task) prof_task_gone((task)->uxTCBNumber)
#  define PROF_KERNEL_STACKS() ((void)0)
#else
#include "objects.h"

/* What the kernel keeps for us, in any of its numbers. */
#  define PROF_KERNEL_OF(number) ((prof_kernel_object *)(uintptr_t)(number))
#  define PROF_KERNEL_PUT(number, object) ((void)((number) = (UBaseType_t)(uintptr_t)(object)))

/* ---- Tasks ---- */

#  define traceTASK_CREATE(task) \
       PROF_KERNEL_PUT((task)->uxTaskNumber, \
                       prof_kernel_new("ready ", (task)->pcTaskName, (task)))
#  define traceTASK_DELETE(task) do { \
       prof_task_gone((task)->uxTCBNumber); \
       prof_kernel_gone(PROF_KERNEL_OF((task)->uxTaskNumber)); \
   } while (0)
#  define traceTASK_SWITCHED_IN() do { \
       prof_kernel_runs(PROF_KERNEL_OF(pxCurrentTCB->uxTaskNumber)); \
       prof_task_in(pxCurrentTCB->uxTCBNumber, pxCurrentTCB->pcTaskName); \
   } while (0)
#  define traceMOVED_TASK_TO_READY_STATE(task) do { \
       if ((task)->uxTaskNumber) prof_kernel_moment(PROF_KERNEL_OF((task)->uxTaskNumber)); \
   } while (0)

/* A wait without an object. V11 tells the end of a delay; before, it is an instant. */
#  define PROF_KERNEL_WAIT_FOR(what) do { \
       static const prof_site prof_kernel_site = { what, "", "", 0 }; \
       static prof_kernel_object prof_kernel_what = { .mark = { 0, &prof_kernel_site } }; \
       prof_kernel_wait(&prof_kernel_what); \
   } while (0)
#  define PROF_KERNEL_DELAY() do { \
       if (tskKERNEL_VERSION_MAJOR > 10) PROF_KERNEL_WAIT_FOR("delay"); \
       else PROF_INSTANT("delay"); \
   } while (0)
#  define traceTASK_DELAY() PROF_KERNEL_DELAY()
#  define traceTASK_DELAY_UNTIL(until) PROF_KERNEL_DELAY()
#  define traceRETURN_vTaskDelay() prof_kernel_go_on()
#  define traceRETURN_xTaskDelayUntil(delayed) prof_kernel_go_on()
#  define traceTASK_NOTIFY_TAKE_BLOCK(...) PROF_KERNEL_WAIT_FOR("notification")
#  define traceTASK_NOTIFY_WAIT_BLOCK(...) PROF_KERNEL_WAIT_FOR("notification")
#  define traceTASK_NOTIFY_TAKE(...) prof_kernel_go_on()
#  define traceTASK_NOTIFY_WAIT(...) prof_kernel_go_on()
#  define traceEVENT_GROUP_SYNC_BLOCK(...) PROF_KERNEL_WAIT_FOR("event group")
#  define traceEVENT_GROUP_WAIT_BITS_BLOCK(...) PROF_KERNEL_WAIT_FOR("event group")
#  define traceEVENT_GROUP_SYNC_END(...) prof_kernel_go_on()
#  define traceEVENT_GROUP_WAIT_BITS_END(...) prof_kernel_go_on()
#  define traceBLOCKING_ON_STREAM_BUFFER_SEND(...) PROF_KERNEL_WAIT_FOR("stream buffer")
#  define traceBLOCKING_ON_STREAM_BUFFER_RECEIVE(...) PROF_KERNEL_WAIT_FOR("stream buffer")
#  define traceSTREAM_BUFFER_SEND(...) prof_kernel_go_on()
#  define traceSTREAM_BUFFER_SEND_FAILED(...) prof_kernel_go_on()
#  define traceSTREAM_BUFFER_RECEIVE(...) prof_kernel_go_on()
#  define traceSTREAM_BUFFER_RECEIVE_FAILED(...) prof_kernel_go_on()

/* uxTaskGetSystemState, of so many tasks at most; usStackHighWaterMark is in words. */
#  ifndef PROF_KERNEL_TASKS
#    define PROF_KERNEL_TASKS 24
#  endif
#  define PROF_KERNEL_STACKS() do { \
       static TaskStatus_t prof_kernel_tasks[PROF_KERNEL_TASKS]; \
       UBaseType_t prof_kernel_n = \
           uxTaskGetSystemState(prof_kernel_tasks, PROF_KERNEL_TASKS, NULL); \
       while (prof_kernel_n--) { \
           const TaskStatus_t *prof_kernel_t = prof_kernel_tasks + prof_kernel_n; \
           char prof_kernel_name[PROF_KERNEL_NAME]; \
           prof_kernel_text(prof_kernel_name, "stack ", prof_kernel_t->pcTaskName, \
                            prof_kernel_t->xHandle); \
           prof_counter(prof_kernel_name, (int64_t)prof_kernel_t->usStackHighWaterMark * \
                                              (int64_t)sizeof(StackType_t)); \
       } \
   } while (0)

/* ---- Queues, semaphores, mutexes, timers ---- */

/* By ucQueueType. A semaphore or mutex is a queue of nothing. */
#  define PROF_KERNEL_KIND(queue) \
       ((queue)->ucQueueType == 1 || (queue)->ucQueueType == 4 ? "mutex " : \
        (queue)->ucQueueType == 2 || (queue)->ucQueueType == 3 ? "semaphore " : "queue ")
#  define PROF_KERNEL_NAMED(queue, name) \
       PROF_KERNEL_PUT((queue)->uxQueueNumber, \
                       prof_kernel_new(PROF_KERNEL_KIND(queue), (name), (queue)))
/* The object of a queue that may have been used before it got a name. */
#  define PROF_KERNEL_QUEUE(queue) \
       ((queue)->uxQueueNumber ? (void)0 : PROF_KERNEL_NAMED(queue, NULL), \
        PROF_KERNEL_OF((queue)->uxQueueNumber))
/* The kernel calls these before it counts. What overwrites a message in a full queue adds none. */
#  define PROF_KERNEL_GIVEN(queue) \
       prof_kernel_count(PROF_KERNEL_QUEUE(queue), (queue)->uxMessagesWaiting < (queue)->uxLength \
                         ? (int64_t)(queue)->uxMessagesWaiting + 1 : (int64_t)(queue)->uxLength)
#  define PROF_KERNEL_TAKEN(queue) \
       prof_kernel_count(PROF_KERNEL_QUEUE(queue), (int64_t)(queue)->uxMessagesWaiting - 1)

#  define traceQUEUE_CREATE(queue) PROF_KERNEL_PUT((queue)->uxQueueNumber, 0)
#  define traceQUEUE_DELETE(queue) \
       prof_kernel_gone(PROF_KERNEL_OF((queue)->uxQueueNumber))
/* The registry has handles, whose fields are known in queue.c alone: as this macro is. */
#  define traceQUEUE_REGISTRY_ADD(queue, name) do { \
       prof_kernel_gone(PROF_KERNEL_OF(((Queue_t *)(queue))->uxQueueNumber)); \
       PROF_KERNEL_NAMED((Queue_t *)(queue), name); \
   } while (0)
#  define traceQUEUE_SEND(queue) do { \
       prof_kernel_go_on(); \
       PROF_KERNEL_GIVEN(queue); \
   } while (0)
#  define traceQUEUE_RECEIVE(queue) do { \
       prof_kernel_go_on(); \
       PROF_KERNEL_TAKEN(queue); \
   } while (0)
#  define traceQUEUE_PEEK(queue) prof_kernel_go_on()
#  define traceQUEUE_SEND_FROM_ISR(queue) PROF_KERNEL_GIVEN(queue)
#  define traceQUEUE_RECEIVE_FROM_ISR(queue) PROF_KERNEL_TAKEN(queue)
#  define traceBLOCKING_ON_QUEUE_SEND(queue) prof_kernel_wait(PROF_KERNEL_QUEUE(queue))
#  define traceBLOCKING_ON_QUEUE_RECEIVE(queue) prof_kernel_wait(PROF_KERNEL_QUEUE(queue))
#  define traceBLOCKING_ON_QUEUE_PEEK(queue) prof_kernel_wait(PROF_KERNEL_QUEUE(queue))
/* It got nothing, at once or in its time: an instant in its row says so. */
#  define PROF_KERNEL_FAILED(what) do { prof_kernel_go_on(); PROF_INSTANT(what); } while (0)
#  define traceQUEUE_SEND_FAILED(queue) PROF_KERNEL_FAILED("queue full")
#  define traceQUEUE_RECEIVE_FAILED(queue) PROF_KERNEL_FAILED("queue empty")
#  define traceQUEUE_PEEK_FAILED(queue) PROF_KERNEL_FAILED("queue empty")
#  define traceQUEUE_SEND_FROM_ISR_FAILED(queue) PROF_INSTANT("queue full")
#  define traceQUEUE_RECEIVE_FROM_ISR_FAILED(queue) PROF_INSTANT("queue empty")

#  define traceTIMER_CREATE(timer) \
       PROF_KERNEL_PUT((timer)->uxTimerNumber, \
                       prof_kernel_new("timer ", (timer)->pcTimerName, (timer)))
#  define traceTIMER_COMMAND_RECEIVED(timer, command, value) do { \
       if ((command) == tmrCOMMAND_DELETE) \
           prof_kernel_gone(PROF_KERNEL_OF((timer)->uxTimerNumber)); \
   } while (0)
#  define traceTIMER_EXPIRED(timer) \
       prof_kernel_moment(PROF_KERNEL_OF((timer)->uxTimerNumber))
#endif
#endif
#endif
