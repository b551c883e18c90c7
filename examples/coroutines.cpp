// coroutines.cpp: C++20 coroutines whose scopes stay open over co_await.
//
// Shows: prof_context_switch where a coroutine goes on and where it waits. Its zones
//        are on a row of their own; without, they would lie in whatever zone runs meanwhile.
// Build: c++ -std=c++20 -O2 -I. -x c++ examples/coroutines.cpp examples/prof.c -o coroutines
// Run:   ./coroutines [trace.json]    then open the file at ui.perfetto.dev

#include <coroutine>
#include <cstdio>
#include <exception>
#include <utility>

#include "prof.h"

namespace {

// A coroutine with its context in the profiler, which it leaves whenever it waits.
class Task {
public:
    struct promise_type {
        void *prof = nullptr;            // its own context; NULL: not yet begun
        void *caller = nullptr;          // the one that it was resumed from

        Task get_return_object() {
            return Task(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };

    explicit Task(std::coroutine_handle<promise_type> h) : handle(h) {}
    Task(Task &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
    Task &operator=(Task &&) = delete;
    ~Task() { if (handle) handle.destroy(); }

    void resume() const {
        promise_type &p = handle.promise();
        p.caller = prof_context_switch(p.prof);
        handle.resume();                 // until it waits, or is done
        if (handle.done()) prof_thread_end();   // so is its context
        p.prof = prof_context_switch(p.caller);
    }
    bool done() const { return handle.done(); }

private:
    std::coroutine_handle<promise_type> handle;
};

unsigned sum;

void work(unsigned amount) {
    PROF_FUNCTION();
    for (unsigned i = 0; i < amount * 100000; i++) sum = sum * 31 + i;
}

Task request(unsigned number) {
    PROF_SCOPE("request");
    for (unsigned i = 0; i < 3; i++) {
        work(number + i);
        PROF_SCOPE("wait");
        co_await std::suspend_always();  // others run; both scopes stay open
    }
}

} // namespace

int main(int argc, char **argv) {
    if (prof_start(nullptr) != PROF_OK) return 1;
    {
        const Task tasks[] = { request(1), request(2), request(3) };
        for (bool more = true; more;) {
            PROF_SCOPE("turn");
            more = false;
            for (const Task &task : tasks)
                if (!task.done()) {
                    task.resume();
                    more = true;
                }
        }
    }
    prof_trace *trace = prof_stop();
    prof_print_table(trace, nullptr);
    const prof_stats stats = prof_get_stats(NULL);
    std::printf("%u unbalanced, %u healed\n", static_cast<unsigned>(stats.unbalanced),
                static_cast<unsigned>(stats.healed));
    return prof_save_chrome(trace, argc > 1 ? argv[1] : "trace.json") != PROF_OK;
}
