// An OpenCL library that passes calls on to the system's and makes its devices fail as small GPUs do. Environment
// variables say how; without them it changes nothing.
//
//   FAULTY_KIND=4           the devices are GPUs (4), CPUs (2) or accelerators (8)
//   FAULTY_NAME=TEXT        the name of every device and of who made it, from which follows what it starts with
//   FAULTY_LOSES=FILE       once there is such a file, launches are lost and nothing says so
//   FAULTY_ADMITS=FILE      once there is such a file, launches are lost, which their events alone say
//   FAULTY_GROUPS=N         of a launch only the first N groups along dimension 0 run
//   FAULTY_LANES=N          the first N command queues are right, launches on others are lost
//   FAULTY_AT_ONCE=loses    a launch is lost if another queue has one that nobody has waited for yet
//   FAULTY_AT_ONCE=aborts   it ends the process
//   FAULTY_BUILD=TEXT       programs whose options have this text are not compiled
//   FAULTY_ABORTS=TEXT      a program whose options have this text ends the process
//   FAULTY_HANGS=FILE       no program is ever compiled, and as long as one is this file grows
//   FAULTY_ITEMS=N          larger groups are refused when they are launched
//   FAULTY_ALONG=N          groups with more items along dimension 1 are refused, and the device says so
//   FAULTY_KERNEL_ITEMS=N   what the driver says of a kernel's largest group
//   FAULTY_MEMORY=N         bytes of memory that the devices say they have
//   FAULTY_ALLOCATION=N     bytes of the largest buffer
//   FAULTY_LOCAL=N          bytes of local memory
//   FAULTY_UNITS=N          compute units, none among them
//   FAULTY_ALIGNMENT=N      bits of which a region of a buffer begins at a multiple, none among them
//   FAULTY_OPTION=TEXT      the compiler is told this as well
//   FAULTY_MICROSECONDS=N   what a launch takes for each group along dimension 0
//   FAULTY_RESET=N          a launch that takes more microseconds than that is lost, as with a GPU that is reset
//   FAULTY_OPENS=N          the first N devices that are opened are out of memory
//   FAULTY_SAYS=1           a line for each program that is built
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *Handle;

static void *next(const char *name) {
    static void *library;
    if (!library) library = dlopen("libOpenCL.so.1", RTLD_NOW);
    return library ? dlsym(library, name) : NULL;
}

static size_t number(const char *name) {
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : 0;
}

static int is_there(const char *name) {
    const char *path = getenv(name);
    return path && access(path, F_OK) == 0;
}

// Answers a query with a text.
static int answer(const char *text, size_t room, void *to, size_t *length) {
    size_t bytes = strlen(text) + 1;
    if (length) *length = bytes;
    if (!to) return 0;
    if (room < bytes) return -30;
    memcpy(to, text, bytes);
    return 0;
}

int clGetDeviceInfo(Handle device, unsigned what, size_t room, void *to, size_t *length) {
    const char *name = getenv("FAULTY_NAME");
    if (name && (what == 0x102B || what == 0x102C)) return answer(name, room, to, length);
    int (*real)(Handle, unsigned, size_t, void *, size_t *) = next("clGetDeviceInfo");
    int status = real(device, what, room, to, length);
    if (status || !to) return status;
    if (what == 0x1000 && number("FAULTY_KIND")) *(uint64_t *)to = number("FAULTY_KIND");
    if (what == 0x101F && number("FAULTY_MEMORY")) *(uint64_t *)to = number("FAULTY_MEMORY");
    if (what == 0x1005 && number("FAULTY_ALONG")) ((size_t *)to)[1] = number("FAULTY_ALONG");
    if (what == 0x1010 && number("FAULTY_ALLOCATION")) *(uint64_t *)to = number("FAULTY_ALLOCATION");
    if (what == 0x1023 && number("FAULTY_LOCAL")) *(uint64_t *)to = number("FAULTY_LOCAL");
    if (what == 0x1002 && getenv("FAULTY_UNITS")) *(uint32_t *)to = number("FAULTY_UNITS");
    if (what == 0x1019 && getenv("FAULTY_ALIGNMENT")) *(uint32_t *)to = number("FAULTY_ALIGNMENT");
    return status;
}

int clGetKernelWorkGroupInfo(Handle kernel, Handle device, unsigned what, size_t room, void *to, size_t *length) {
    int (*real)(Handle, Handle, unsigned, size_t, void *, size_t *) = next("clGetKernelWorkGroupInfo");
    int status = real(kernel, device, what, room, to, length);
    const char *items = getenv("FAULTY_KERNEL_ITEMS");
    if (!status && to && what == 0x11B0 && items) *(size_t *)to = number("FAULTY_KERNEL_ITEMS");
    return status;
}

// Without end.
static void hang(const char *path) {
    for (;; usleep(20000)) {
        FILE *file = fopen(path, "a");
        if (file && fputc('.', file) != EOF) fclose(file);
    }
}

int clBuildProgram(Handle program, unsigned count, const Handle *devices, const char *options, void *done, void *data) {
    int (*real)(Handle, unsigned, const Handle *, const char *, void *, void *) = next("clBuildProgram");
    const char *refused = getenv("FAULTY_BUILD"), *more = getenv("FAULTY_OPTION");
    char told[4096];
    if (getenv("FAULTY_HANGS")) hang(getenv("FAULTY_HANGS"));
    if (number("FAULTY_SAYS")) fprintf(stderr, "built with [%s]\n", options);
    if (getenv("FAULTY_ABORTS") && options && strstr(options, getenv("FAULTY_ABORTS"))) abort();
    if (refused && options && strstr(options, refused)) return -11;
    snprintf(told, sizeof told, "%s %s", options ? options : "", more ? more : "");
    return real(program, count, devices, more ? told : options, done, data);
}

Handle clCreateContext(const intptr_t *properties, unsigned count, const Handle *devices, void *heard, void *data,
                       int *status) {
    static size_t opened;
    Handle (*real)(const intptr_t *, unsigned, const Handle *, void *, void *, int *) = next("clCreateContext");
    if (opened++ >= number("FAULTY_OPENS")) return real(properties, count, devices, heard, data, status);
    *status = -6;
    return NULL;
}

static Handle queues[16];
static size_t queue_count;
// Whether there are launches that nobody has waited for.
static int is_busy[16];

// The place of a queue among those known, of which there are `count`.
static size_t place_of(Handle queue, size_t count) {
    size_t at = 0;
    while (at < count && queues[at] != queue) at++;
    return at;
}

// Marks a queue as busy; returns whether another one is.
static int is_beside(Handle queue) {
    size_t count = queue_count, own = place_of(queue, count);
    int beside = 0;
    if (own < count) __atomic_store_n(&is_busy[own], 1, __ATOMIC_SEQ_CST);
    for (size_t at = 0; at < count; at++) beside |= at != own && __atomic_load_n(&is_busy[at], __ATOMIC_SEQ_CST);
    return beside;
}

int clFinish(Handle queue) {
    int (*real)(Handle) = next("clFinish");
    int status = real(queue);
    size_t count = queue_count, own = place_of(queue, count);
    if (own < count) __atomic_store_n(&is_busy[own], 0, __ATOMIC_SEQ_CST);
    return status;
}

Handle clCreateCommandQueue(Handle context, Handle device, uint64_t properties, int *status) {
    Handle (*real)(Handle, Handle, uint64_t, int *) = next("clCreateCommandQueue");
    Handle queue = real(context, device, properties, status);
    if (queue && queue_count < 16) queues[queue_count++] = queue;
    return queue;
}

static int is_wrong_queue(Handle queue) {
    size_t right = number("FAULTY_LANES");
    for (size_t at = 0; right && at < queue_count; at++)
        if (queues[at] == queue) return at >= right;
    return 0;
}

// An event of a launch that never ran.
static Handle lost(Handle queue, int status) {
    int (*info)(Handle, unsigned, size_t, void *, size_t *) = next("clGetCommandQueueInfo");
    Handle (*make)(Handle, int *) = next("clCreateUserEvent");
    int (*set)(Handle, int) = next("clSetUserEventStatus");
    Handle context = NULL;
    info(queue, 0x1090, sizeof context, &context, NULL);
    Handle event = make(context, NULL);
    set(event, status);
    return event;
}

int clEnqueueNDRangeKernel(Handle queue, Handle kernel, unsigned dimensions, const size_t *offset, const size_t *global,
                           const size_t *local, unsigned count, const Handle *list, Handle *event) {
    int (*real)(Handle, Handle, unsigned, const size_t *, const size_t *, const size_t *, unsigned, const Handle *,
                Handle *) = next("clEnqueueNDRangeKernel");
    size_t range[2] = {global[0], global[1]}, groups = number("FAULTY_GROUPS");
    if (number("FAULTY_ITEMS") && local[0] * local[1] > number("FAULTY_ITEMS")) return -5;
    if (number("FAULTY_ALONG") && local[1] > number("FAULTY_ALONG")) return -55;
    const char *at_once = getenv("FAULTY_AT_ONCE");
    int beside = at_once && is_beside(queue), admits = is_there("FAULTY_ADMITS");
    if (beside && !strcmp(at_once, "aborts")) abort();
    if (beside || admits || is_there("FAULTY_LOSES") || is_wrong_queue(queue)) {
        if (event) *event = lost(queue, admits ? -14 : 0);
        return 0;
    }
    if (groups && range[0] / local[0] > groups) range[0] = groups * local[0];
    size_t microseconds = number("FAULTY_MICROSECONDS") * (range[0] / local[0]);
    if (number("FAULTY_RESET") && microseconds > number("FAULTY_RESET")) return -5;
    usleep(microseconds);
    return real(queue, kernel, dimensions, offset, range, local, count, list, event);
}
