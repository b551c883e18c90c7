/* Stands in for ThreadX's header in test_clean.sh: see tx_api.h. */
#ifndef TX_THREAD_H
#define TX_THREAD_H
extern TX_THREAD *_tx_thread_current_ptr, *_tx_thread_execute_ptr;
#endif
