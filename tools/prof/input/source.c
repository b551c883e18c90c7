/* Files, serial ports, TCP ports: see source.h. */
#define _DEFAULT_SOURCE                          /* the fast baud rates */
#include "input/source.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/errors.h"

/* ---- Files and serial ports ---- */

static bool set_speed(int fd, int64_t baud, const char *path) {
    static const struct { int64_t baud; speed_t speed; } speeds[] = {
        {9600, B9600}, {19200, B19200}, {38400, B38400}, {57600, B57600}, {115200, B115200},
#ifdef B230400
        {230400, B230400},
#endif
#ifdef B460800
        {460800, B460800}, {921600, B921600}, {1000000, B1000000}, {2000000, B2000000},
        {3000000, B3000000}, {4000000, B4000000},
#endif
    };
    struct termios port;
    if (tcgetattr(fd, &port) != 0) return fail(path, "%s", strerror(errno)), false;
    port.c_iflag = port.c_oflag = port.c_lflag = 0;              /* bytes as they come */
    port.c_cflag = (port.c_cflag & ~(tcflag_t)(CSIZE | PARENB | CSTOPB)) | CS8 | CREAD | CLOCAL;
    port.c_cc[VMIN] = 1;
    port.c_cc[VTIME] = 0;
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        if (speeds[i].baud != baud) continue;
        cfsetispeed(&port, speeds[i].speed);
        cfsetospeed(&port, speeds[i].speed);
        if (tcsetattr(fd, TCSANOW, &port) == 0) return true;
        return fail(path, "%s", strerror(errno)), false;
    }
    return fail("--baud", "%lld is not a speed of a serial port", (long long)baud), false;
}

int source_open(const char *path, int64_t baud) {
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_NOCTTY);
    if (fd < 0) return fail(path, "%s", strerror(errno)), -1;
    if (!isatty(fd) || set_speed(fd, baud, path)) return fd;
    close(fd);
    return -1;
}

/* ---- TCP ports ---- */

enum { LONGEST_NAME = 255, CONNECT_MS = 5000 };

/* "HOST:PORT", "[::1]:PORT": the port's digits; NULL: it is neither. */
static const char *split(const char *where, char host[LONGEST_NAME + 1]) {
    const char *colon = strrchr(where, ':');
    if (!colon) return NULL;
    size_t size = (size_t)(colon - where);
    if (size > 2 && where[0] == '[' && where[size - 1] == ']') where++, size -= 2;
    if (size == 0 || size > LONGEST_NAME) return NULL;
    memcpy(host, where, size);
    host[size] = 0;
    return colon + 1;
}

static bool is_port(const char *text) {
    size_t digits = strspn(text, "0123456789");
    long port = digits && digits < 6 && !text[digits] ? strtol(text, NULL, 10) : 0;
    return port > 0 && port < 65536;
}

/* To one of the host's addresses; -1: errno says why not. */
static int connect_one(const struct addrinfo *to) {
    int fd = socket(to->ai_family, to->ai_socktype, to->ai_protocol), error = 0;
    socklen_t size = sizeof error;
    if (fd < 0) return -1;
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    if (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
        struct pollfd one = {.fd = fd, .events = POLLOUT};
        if (errno != EINPROGRESS) error = errno;
        else if (poll(&one, 1, CONNECT_MS) <= 0) error = ETIMEDOUT;
        else getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    fcntl(fd, F_SETFL, flags);
    if (!error) return fd;
    close(fd);
    errno = error;
    return -1;
}

int source_connect(const char *where) {
    char host[LONGEST_NAME + 1];
    const char *port = split(where, host);
    struct addrinfo wanted, *found = NULL;
    if (!port) return fail("--connect", "%s: give HOST:PORT, as localhost:19021", where), -1;
    if (!is_port(port))
        return fail("--connect", "%s: no port is '%s', 1 to 65535", where, port), -1;
    memset(&wanted, 0, sizeof wanted);
    wanted.ai_socktype = SOCK_STREAM;
    int unknown = getaddrinfo(host, port, &wanted, &found), fd = -1;
    if (unknown) return fail(where, "%s", gai_strerror(unknown)), -1;
    for (const struct addrinfo *to = found; to && fd < 0; to = to->ai_next) fd = connect_one(to);
    if (fd < 0) fail(where, "%s", strerror(errno));
    freeaddrinfo(found);
    return fd;
}
