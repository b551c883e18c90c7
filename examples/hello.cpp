/* hello.cpp: zones in C++11.

   Shows: a zone is an object (RAII), so a return or an exception that leaves its block ends it;
          zones in member functions and templates.
   Build: c++ -std=c++11 -O2 -I. examples/hello.cpp -o hello_cpp -lpthread
   Run:   ./hello_cpp [trace.json]    then open the file at ui.perfetto.dev */

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#define PROF_IMPLEMENTATION
#include "prof.h"

static const char *const kReadings[] = {
    "12.5 9.75 14.0 8.25 11.0", "3.5 2.25 oops 7.0", "21.0 19.5 20.25", "", "6.0 5.5 nine 4.0 5.0",
};

/* Throws std::invalid_argument out of its zone when text holds something that is no number. */
static std::vector<double> parse(const std::string &text) {
    PROF_FUNCTION();
    std::vector<double> numbers;
    std::size_t at = 0;
    while (at < text.size()) {
        PROF_SCOPE("number");
        std::size_t used = 0;
        numbers.push_back(std::stod(text.substr(at), &used));
        at += used;
    }
    return numbers;
}

template <typename T>
static T median(std::vector<T> values) {
    PROF_FUNCTION();
    if (values.empty()) throw std::out_of_range("no numbers");
    PROF_SCOPE("sort");
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

class Report {
public:
    void add(const std::string &text) {
        PROF_SCOPE("Report::add");
        try {
            sum_ += median(parse(text));
        } catch (const std::exception &) {
            PROF_SCOPE("Report::reject");
            rejected_++;
        }
    }
    double sum() const { return sum_; }
    int rejected() const { return rejected_; }

private:
    double sum_ = 0;
    int rejected_ = 0;
};

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "trace.json";
    Report report;

    prof_start(nullptr);
    for (int i = 0; i < 200; i++) {
        for (const char *text : kReadings) report.add(text);
    }
    prof_trace *trace = prof_stop();

    const prof_stats stats = prof_get_stats(NULL);
    std::printf("The medians add up to %.2f; %d readings were rejected.\n", report.sum(),
                report.rejected());
    std::printf("Exceptions left their zones closed: %d unbalanced, %d unfinished.\n",
                static_cast<int>(stats.unbalanced), static_cast<int>(stats.unfinished));
    prof_print_table(trace, nullptr);
    const prof_result result = prof_save_chrome(trace, path);
    if (result != PROF_OK) {
        std::fprintf(stderr, "hello_cpp: %s: %s\n", path, prof_strerror(result));
        return EXIT_FAILURE;
    }
    std::printf("Open %s at ui.perfetto.dev\n", path);
    return EXIT_SUCCESS;
}
