/* Tasks of FreeRTOS (V10, V11; one core): include it at the end of FreeRTOSConfig.h, which needs
   configUSE_TRACE_FACILITY 1 for the tasks' numbers. Nothing else is to be done.
   - Each task is a row of its own, "CPU" the row of who ran.
   - The kernel's queues, semaphores and mutexes become instants in the row of the caller, a task or
     an interrupt: 24 bytes each. PROF_KERNEL_NO_INSTANTS leaves them out.
   - The tick keeps the clock's wraps counted: prof_tick() need not be called elsewhere.
   A port of several cores (configNUMBER_OF_CORES above 1) is refused. In builds with an OS (the
   POSIX port) tasks are threads, and only the instants are recorded. */
#ifndef PROF_KERNEL_FREERTOS_H
#define PROF_KERNEL_FREERTOS_H

#ifndef __ASSEMBLER__                    /* some ports include the configuration from assembler */
#include "prof.h"

#if defined(configNUMBER_OF_CORES) && configNUMBER_OF_CORES > 1
#  error "prof.h records the tasks of one core"
#endif

#define traceTASK_SWITCHED_IN() prof_task_in(pxCurrentTCB->uxTCBNumber, pxCurrentTCB->pcTaskName)
#define traceTASK_DELETE(task) prof_task_gone((task)->uxTCBNumber)

#if PROF__BARE
/* Each 64th tick: a half wrap of a 1 GHz clock is 2147 ticks of 1 ms. */
#  define traceTASK_INCREMENT_TICK(count) do { if (!((count) & 63)) prof_tick(); } while (0)
#endif

#ifndef PROF_KERNEL_NO_INSTANTS
/* Semaphores and mutexes are queues of nothing. */
#  define PROF_KERNEL_QUEUE(queue, what) do { \
       if ((queue)->uxItemSize) PROF_INSTANT("queue " what); \
       else PROF_INSTANT("semaphore " what); \
   } while (0)
#  define traceQUEUE_SEND(queue) PROF_KERNEL_QUEUE(queue, "given")
#  define traceQUEUE_SEND_FROM_ISR(queue) PROF_KERNEL_QUEUE(queue, "given")
#  define traceQUEUE_SEND_FAILED(queue) PROF_KERNEL_QUEUE(queue, "full")
#  define traceQUEUE_SEND_FROM_ISR_FAILED(queue) PROF_KERNEL_QUEUE(queue, "full")
#  define traceQUEUE_RECEIVE(queue) PROF_KERNEL_QUEUE(queue, "taken")
#  define traceQUEUE_RECEIVE_FROM_ISR(queue) PROF_KERNEL_QUEUE(queue, "taken")
#  define traceQUEUE_RECEIVE_FAILED(queue) PROF_KERNEL_QUEUE(queue, "empty")
#  define traceBLOCKING_ON_QUEUE_SEND(queue) PROF_KERNEL_QUEUE(queue, "waits to give")
#  define traceBLOCKING_ON_QUEUE_RECEIVE(queue) PROF_KERNEL_QUEUE(queue, "waits to take")
#endif
#endif
#endif
