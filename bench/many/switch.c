/*
 * switch.c - hosts in network namespaces, joined by links of a given bandwidth and delay.
 *
 *   switch MBITS DELAY_MS NAMESPACE...      until it is ended; says "ready" first
 *
 * Every namespace gets a device link0 with the address 10.77.0.1, 10.77.0.2, ... in their order.
 * A packet leaves its host when the ones before it have gone through at the bandwidth, and is there
 * the delay later.  It does what the network emulator of the kernel does, which not every kernel
 * has.  Processes that wait for a message look for it all the time, on cores that they share with
 * the switch: it goes first, where the system lets it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_HOSTS = 16, PACKET_BYTES = 9200, QUEUE = 8192 };

typedef struct packet {
    int64_t due; /* nanoseconds */
    int length;
    unsigned char bytes[PACKET_BYTES];
} packet;

/* What is on its way from a host, in order. */
typedef struct host {
    int file;
    int64_t free_at; /* when the link has taken what was sent so far */
    packet *queue;   /* [QUEUE] */
    int64_t head, tail;
} host;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "switch: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* A device in a namespace; this process is in it afterwards. */
static int open_device(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", name);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) die(path);
    close(space);
    int file = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strcpy(request.ifr_name, "link0");
    if (file < 0 || ioctl(file, TUNSETIFF, &request) != 0) die("/dev/net/tun");
    return file;
}

/* Take what a host sends, as long as there is room: what waits longer stays with the host. */
static void take(host *h, double bytes_a_second, int64_t delay)
{
    while (h->tail - h->head < QUEUE) {
        packet *p = &h->queue[h->tail % QUEUE];
        ssize_t got = read(h->file, p->bytes, sizeof p->bytes);
        if (got <= 0) return;
        int64_t began = now() > h->free_at ? now() : h->free_at;
        h->free_at = began + (int64_t)(1e9 * (double)got / bytes_a_second);
        p->due = h->free_at + delay;
        p->length = (int)got;
        h->tail++;
    }
}

/* The last byte of the address says which host it is for. */
static void deliver(host *hosts, int n, host *from)
{
    for (; from->head < from->tail && from->queue[from->head % QUEUE].due <= now(); from->head++) {
        const packet *p = &from->queue[from->head % QUEUE];
        int to = p->length >= 20 && p->bytes[0] >> 4 == 4 ? p->bytes[19] - 1 : -1;
        if (to >= 0 && to < n && write(hosts[to].file, p->bytes, (size_t)p->length) < 0) continue;
    }
}

/* Until something comes or is due. */
static void rest(const host *hosts, int n)
{
    struct pollfd files[MOST_HOSTS];
    int64_t soon = INT64_C(1000000000), at = now();
    for (int k = 0; k < n; k++) {
        const host *h = &hosts[k];
        bool has_room = h->tail - h->head < QUEUE;
        files[k] = (struct pollfd){.fd = h->file, .events = has_room ? POLLIN : 0};
        if (h->head == h->tail) continue;
        int64_t left = h->queue[h->head % QUEUE].due - at;
        if (left < soon) soon = left > 0 ? left : 0;
    }
    const struct timespec wait = {soon / 1000000000, soon % 1000000000};
    ppoll(files, (nfds_t)n, &wait, NULL);
}

int main(int argc, char **argv)
{
    static host hosts[MOST_HOSTS];
    int n = argc - 3;
    if (n < 2 || n > MOST_HOSTS || atof(argv[1]) <= 0) {
        fprintf(stderr, "switch MBITS DELAY_MS NAMESPACE NAMESPACE...\n");
        return 2;
    }
    double bytes_a_second = atof(argv[1]) * 1e6 / 8;
    int64_t delay = (int64_t)(atof(argv[2]) * 1e6);
    for (int k = 0; k < n; k++) {
        hosts[k].file = open_device(argv[3 + k]);
        hosts[k].queue = malloc(QUEUE * sizeof *hosts[k].queue);
        if (!hosts[k].queue) die("memory");
    }
    const struct sched_param first = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        fprintf(stderr, "switch: no priority: %s; packets may be late\n", strerror(errno));
    puts("ready");
    fflush(stdout);
    for (;;) {
        rest(hosts, n);
        for (int k = 0; k < n; k++) take(&hosts[k], bytes_a_second, delay);
        for (int k = 0; k < n; k++) deliver(hosts, n, &hosts[k]);
    }
}
