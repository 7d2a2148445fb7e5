/*
 * ledger.c - an append-only log of interactions: feedback-000001.csv and so on in one folder.
 *
 * What is acknowledged was written and synced (fdatasync) before.  After a kill the last file may
 * end in a part of a block that nobody was told of: its whole rows stay, a part of a row is cut
 * off when the folder is opened again.
 */
#include "ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct ledger {
    const char *folder;
    int place, lock, file; /* the folder, the lock in it, the file that is written */
    int number;
    int64_t length, rotate_bytes;
    recall *recall;
};

enum { NAME_BYTES = 32, MAX_NUMBER = 999999, LONGEST = 1 << 30 };

static const char *name_of(int number, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "feedback-%06d.csv", number);
    return out;
}

static bool complain(const ledger *l, const char *what, const char *name, int error)
{
    fprintf(stderr, "crosswise: cannot %s %s/%s: %s\n", what, l->folder, name, strerror(error));
    return false;
}

/* ---- writing --------------------------------------------------------------------- */

static bool write_all(int file, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t done = write(file, text, length);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        text += done;
        length -= (size_t)done;
    }
    return true;
}

/* A new file is there, with its name, before anything of it is acknowledged. */
static bool begin_file(ledger *l, int number)
{
    char name[NAME_BYTES];
    int file = openat(l->place, name_of(number, name),
                      O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (file < 0) return false;
    if (!write_all(file, LEDGER_HEADER, sizeof LEDGER_HEADER - 1) || fsync(file) != 0 ||
        fsync(l->place) != 0) {
        int error = errno;
        (void)close(file);
        (void)unlinkat(l->place, name, 0);
        errno = error;
        return false;
    }
    if (l->file >= 0) (void)close(l->file);
    l->file = file;
    l->number = number;
    l->length = sizeof LEDGER_HEADER - 1;
    return true;
}

bool ledger_append(ledger *l, const char *text, size_t length, char *why)
{
    bool is_full = l->length >= l->rotate_bytes && l->number < MAX_NUMBER;
    bool is_written = (!is_full || begin_file(l, l->number + 1)) &&
                      write_all(l->file, text, length) && fdatasync(l->file) == 0;
    if (is_written) {
        l->length += (int64_t)length;
        return true;
    }
    snprintf(why, WHY_BYTES, "the interactions could not be kept: %s", strerror(errno));
    if (ftruncate(l->file, (off_t)l->length) !=
        0) /* then a part may stay that nobody was told of */
        (void)complain(l, "cut back", "feedback", errno);
    return false;
}

bool ledger_remember(ledger *l, const ledger_row *rows, size_t n)
{
    bool is_good = true;
    for (size_t k = 0; k < n; k++) is_good &= recall_add(l->recall, rows[k].user, rows[k].item);
    return is_good;
}

/* ---- reading back ------------------------------------------------------------------ */

/* Remember a file; *whole is where its rows end. */
static bool read_file(ledger *l, const char *name, size_t *whole)
{
    struct stat info;
    int file = openat(l->place, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *text = NULL;
    size_t got = 0;
    bool is_good = file >= 0 && fstat(file, &info) == 0;
    if (is_good && (!S_ISREG(info.st_mode) || info.st_size > LONGEST)) {
        errno = EFBIG;
        is_good = false;
    }
    if (is_good) is_good = (text = malloc((size_t)info.st_size + 1)) != NULL;
    while (is_good && got < (size_t)info.st_size) {
        ssize_t more = read(file, text + got, (size_t)info.st_size - got);
        is_good = more > 0 || (more < 0 && errno == EINTR);
        if (more > 0) got += (size_t)more;
    }
    if (is_good) is_good = rows_read(text, got, l->recall, whole);
    if (!is_good) (void)complain(l, "read", name, errno ? errno : EIO);
    if (file >= 0) (void)close(file);
    free(text);
    return is_good;
}

/* Cut off what no row is, and go on behind it. */
static bool go_on(ledger *l, int number, size_t whole)
{
    char name[NAME_BYTES];
    if (whole == 0) { /* killed while it began */
        (void)unlinkat(l->place, name_of(number, name), 0);
        return begin_file(l, number) || complain(l, "begin", name, errno);
    }
    l->file = openat(l->place, name_of(number, name), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (l->file < 0 || ftruncate(l->file, (off_t)whole) != 0 || fsync(l->file) != 0)
        return complain(l, "go on in", name, errno);
    l->number = number;
    l->length = (int64_t)whole;
    return true;
}

static int find_last(int place)
{
    int last = 0, number, end;
    DIR *folder = fdopendir(dup(place));
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (sscanf(entry->d_name, "feedback-%6d.csv%n", &number, &end) == 1 && end == 19 &&
            entry->d_name[19] == '\0' && number > last)
            last = number;
    if (folder) (void)closedir(folder);
    return last;
}

/* Of files that lie further back nothing is remembered. */
static bool open_files(ledger *l)
{
    enum { BACK = 8 };
    char name[NAME_BYTES];
    size_t whole = 0;
    int last = find_last(l->place);
    if (last == 0) return begin_file(l, 1) || complain(l, "begin", name_of(1, name), errno);
    for (int n = last > BACK ? last - BACK : 1; n <= last; n++) {
        if (n < last && faccessat(l->place, name_of(n, name), F_OK, 0) != 0) continue; /* moved */
        errno = 0;
        if (!read_file(l, name_of(n, name), &whole)) return false;
    }
    return go_on(l, last, whole);
}

/* A new folder has its name on the disk before anything in it is acknowledged. */
static bool keep_folder(const ledger *l)
{
    int above = openat(l->place, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_kept = above >= 0 && fsync(above) == 0;
    if (above >= 0) (void)close(above);
    return is_kept;
}

ledger *ledger_open(const char *folder, int64_t rotate_bytes)
{
    ledger *l = calloc(1, sizeof *l);
    if (!l || !(l->recall = recall_create())) {
        fputs("crosswise: out of memory\n", stderr);
        free(l);
        return NULL;
    }
    l->folder = folder;
    l->rotate_bytes = rotate_bytes;
    l->lock = l->file = -1;
    bool is_new = mkdir(folder, 0750) == 0; /* otherwise opening it says why */
    l->place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_good = l->place >= 0 || complain(l, "open", "", errno);
    if (is_good && is_new) is_good = keep_folder(l) || complain(l, "keep", "", errno);
    if (is_good) {
        l->lock = openat(l->place, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
        is_good = l->lock >= 0 || complain(l, "open", "lock", errno);
    }
    if (is_good && flock(l->lock, LOCK_EX | LOCK_NB) != 0) {
        fprintf(stderr, "crosswise: another server writes feedback to %s\n", folder);
        is_good = false;
    }
    if (is_good && open_files(l)) return l;
    ledger_close(l);
    return NULL;
}

void ledger_close(ledger *l)
{
    if (!l) return;
    if (l->file >= 0) (void)close(l->file);
    if (l->lock >= 0) (void)close(l->lock);
    if (l->place >= 0) (void)close(l->place);
    recall_free(l->recall);
    free(l);
}

/* ---- what a model does not know --------------------------------------------------------- */

typedef struct gathering {
    const volume *v;
    const int32_t *known; /* [n_known] ascending */
    size_t n_known, n, room;
    int32_t *out;
} gathering;

static int compare_items(const void *a, const void *b)
{
    int32_t first = *(const int32_t *)a, second = *(const int32_t *)b;
    return first < second ? -1 : first > second;
}

static void gather(void *arg, const char *id)
{
    gathering *g = arg;
    int32_t item = cw_model_find_item(g->v->model, id);
    if (item < 0 || g->n == g->room) return;
    if (g->n_known > 0 && bsearch(&item, g->known, g->n_known, sizeof item, compare_items)) return;
    g->out[g->n++] = item;
}

size_t ledger_had(ledger *l, const char *user, const volume *v, int32_t number, int32_t *out,
                  size_t room)
{
    gathering g = {.v = v, .out = out, .room = room};
    if (number >= 0) g.n_known = cw_user_items(v->recommender, number, &g.known);
    recall_each(l->recall, user, gather, &g);
    return g.n;
}
