/* Run a command while a lock is held, through the Unix socket of `peerlock serve --api`.
 *
 *     cc -o hold peerlock.c
 *     ./hold /run/peerlock.sock invoices sh -c 'echo fence $PEERLOCK_FENCE'
 *
 * One connection is used for everything, and the session is tied to it: if this program
 * dies, the lock is released at once.  The command is killed if the lock is lost, if the
 * server does not answer in time, and on Linux if this program dies.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef TTL
#define TTL 10 /* seconds */
#endif
#ifdef CLOCK_BOOTTIME /* which goes on while the machine is suspended */
#define CLOCK CLOCK_BOOTTIME
#else
#define CLOCK CLOCK_MONOTONIC
#endif

enum { FAILED = 69, LOST = 75 };

static int server;
static char said[65536]; /* the last answer, head and body */

static void fail(const char *what)
{
    fprintf(stderr, "hold: %s\n", what);
    exit(FAILED);
}

static void dial(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        fail("the path of the socket is too long");
    strcpy(address.sun_path, path);
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address) < 0)
        fail(strerror(errno));
}

/* Send a request and read the answer; returns its status, or 0 if the server is gone, or too slow. */
static int ask(const char *method, const char *path, const char *body)
{
    char request[8192];
    size_t sent = 0, got = 0, all = sizeof said;
    int length = snprintf(request, sizeof request,
                          "%s %s HTTP/1.1\r\nHost: peerlock\r\nContent-Length: %zu\r\n\r\n%s",
                          method, path, strlen(body), body);
    if (length < 0 || (size_t)length >= sizeof request)
        fail("the request is too long");
    while (sent < (size_t)length) {
        ssize_t n = send(server, request + sent, (size_t)length - sent, MSG_NOSIGNAL);
        if (n < 0)
            return 0;
        sent += (size_t)n;
    }
    while (got < all) {
        ssize_t n = recv(server, said + got, sizeof said - 1 - got, 0);
        if (n <= 0)
            return 0;
        said[got += (size_t)n] = '\0';
        const char *end = strstr(said, "\r\n\r\n"), *size = strstr(said, "content-length: ");
        if (end && size)
            all = (size_t)(end + 4 - said) + strtoul(size + 16, NULL, 10);
    }
    return atoi(said + 9); /* after "HTTP/1.1 " */
}

/* The text after `"key":` in the last answer, up to a quote, a comma or a brace. */
static void value(const char *key, char *into, size_t room)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *found = strstr(said, quoted);
    if (!found)
        fail(strstr(said, "\r\n\r\n") + 4);
    found += strlen(quoted);
    found += *found == '"';
    size_t length = strcspn(found, "\",}");
    if (length >= room)
        fail("the server says too much");
    memcpy(into, found, length);
    into[length] = '\0';
}

static void encode(const char *name, char *into, size_t room)
{
    for (; *name && room > 4; name++) {
        int n = snprintf(into, room, "%%%02X", (unsigned char)*name);
        into += n;
        room -= (size_t)n;
    }
    if (*name)
        fail("the name is too long");
}

static int stop(pid_t command)
{
    fprintf(stderr, "hold: the lock is lost: killing the command\n");
    kill(command, SIGKILL);
    waitpid(command, NULL, 0);
    return LOST;
}

/* To ask for the lock's state renews the session: after a third of its time to live, and
 * the answer is waited for as long again. */
static int supervise(pid_t command, const char *lock)
{
    const struct timespec tick = {.tv_nsec = 20000000};
    const struct timeval third = {.tv_sec = TTL / 3, .tv_usec = TTL % 3 * 333333};
    time_t next = 0;
    int status;
    setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &third, sizeof third);
    setsockopt(server, SOL_SOCKET, SO_SNDTIMEO, &third, sizeof third);
    while (waitpid(command, &status, WNOHANG) == 0) {
        struct timespec now;
        clock_gettime(CLOCK, &now);
        if (now.tv_sec >= next) {
            if (ask("GET", lock, "") != 200)
                return stop(command);
            next = now.tv_sec + TTL / 3;
        }
        nanosleep(&tick, NULL);
    }
    if (ask("DELETE", lock, "") != 200)
        return LOST;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **words)
{
    char session[128], name[4096] = "", lock[4400], opening[64], fence[32];
    int status;
    if (count < 4)
        fail("usage: hold SOCKET NAME COMMAND [ARGUMENT]…");
    dial(words[1]);
    snprintf(opening, sizeof opening, "{\"ttl\": %d, \"label\": \"hold\"}", TTL);
    if (ask("POST", "/v1/sessions", opening) == 0)
        fail("the server does not answer");
    value("session", session, sizeof session);
    encode(words[2], name, sizeof name);
    snprintf(lock, sizeof lock, "/v1/sessions/%s/locks/%s", session, name);
    while ((status = ask("PUT", lock, "{}")) == 202)
        ; /* it waits; to ask again renews the session */
    if (status != 200)
        fail(status ? strstr(said, "\r\n\r\n") + 4 : "the server does not answer");
    value("fence", fence, sizeof fence);
    pid_t command = fork();
    if (command < 0)
        fail(strerror(errno));
    if (command == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        close(server);
        setenv("PEERLOCK_FENCE", fence, 1);
        execvp(words[3], words + 3);
        perror(words[3]);
        _exit(127);
    }
    return supervise(command, lock);
}
