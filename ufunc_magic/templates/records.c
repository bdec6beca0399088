/* Loops of which some operand is a structure.  Part of the driver's unit for cells that have such.

   Elements pass through the kernel in blocks: where they are, if they are aligned and contiguous, or as copies. */

#ifdef UFM_RECORDS
enum { RECORD_BLOCK = 64 };

typedef struct {
    char *memory, *buffer[MAX_OPERANDS];
    int direct[MAX_OPERANDS];
} Blocks;

/* As real_flags, over the numbers of each element. */
RARE static Flags real_record_flags(const __ufm_record_plan *plan, char *const *at, ptrdiff_t count, Flags seen)
{
    Flags real = 0;
    if (plan->judge != JUDGE_RESULTS) return plan->judge == JUDGE_ALL ? seen : 0;
    for (ptrdiff_t j = 0; j < count && real != seen; j++) {
        int in = 0, out = 0;
        for (int k = 0; k < plan->nin + plan->nout; k++)
            *(k < plan->nin ? &in : &out) |= judge_leaves(plan->leaves, plan->leaf_count, k, at[k] + j * plan->items[k].size);
        if ((out & HAS_NAN && !(in & HAS_NAN)) || out & HAS_INDEFINITE) real |= seen & INVALID;
        if (out & HAS_INFINITE && !(in & (HAS_NAN | HAS_INFINITE))) real |= seen & (DIVIDE | OVERFLOWED);
        if (out & HAS_TINY && !(in & HAS_INFINITE)) real |= seen & UNDERFLOWED;
    }
    return real;
}

/* Elements start..stop, at most `block` at a time; sets *halt where an exception was set. */
static Flags run_record_blocks(const __ufm_record_plan *plan, Own *own, const Blocks *blocks, char *const *args,
                               const ptrdiff_t *steps, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t block, int *halt)
{
    const int nin = plan->nin, all = nin + plan->nout;
    char *at[MAX_OPERANDS];
    Flags real = 0, seen;
    int status;
    for (ptrdiff_t count; start < stop && !*halt; start += count) {
        count = stop - start < block ? stop - start : block;
        for (int k = 0; k < all; k++) {
            const size_t size = (size_t)plan->items[k].size;
            const char *from = args[k] + start * steps[k];
            at[k] = blocks->buffer[k];
            if (blocks->direct[k]) at[k] = (char *)from;
            else if (k < nin)
                for (ptrdiff_t j = 0; j < count; j++) memcpy(at[k] + j * (ptrdiff_t)size, from + j * steps[k], size);
        }
        set_raised(0);
        do status = call(own, (Code *)plan->kernel, 0, (void *)count, at, NULL, NULL);
        while (status == FAULTED && was_stop(own, halt) && !*halt);
        if (*halt) break;
        if (status == FAULTED) { /* again one by one; nothing that is read was written to */
            Report report = {.name = plan->name, .types = plan->types, .fault = &own->inside->fault, .call = own->call,
                             .total = own->now->total, .nin = nin, .leaf_count = plan->leaf_count, .leaves = plan->leaves};
            const Fault fault = own->inside->fault;
            if (count == 1) report.values = at;
            else run_record_blocks(plan, own, blocks, args, steps, start, start + count, 1, halt);
            if (*halt) break;
            report.fault = &fault;
            tell(&report);
            *halt = own->raised_before = 1;
            break;
        }
        if (status) {
            *halt = 1;
            break;
        }
        if ((seen = raised())) real |= real_record_flags(plan, at, count, seen);
        for (int k = nin; k < all; k++) {
            const size_t size = (size_t)plan->items[k].size;
            if (at[k] != blocks->buffer[k]) continue;
            for (ptrdiff_t j = 0; j < count; j++)
                memcpy(args[k] + (start + j) * steps[k], at[k] + j * (ptrdiff_t)size, size);
        }
    }
    return real;
}

/* -1: an exception is set. */
int __ufm_run_records(const __ufm_record_plan *plan, char *const *args, const ptrdiff_t *dimensions, const ptrdiff_t *steps)
{
    const ptrdiff_t count = dimensions[0];
    const int nin = plan->nin, all = nin + plan->nout;
    Thread before;
    Blocks blocks;
    Flags real = 0;
    size_t need = 64;
    ptrdiff_t block = RECORD_BLOCK;
    int halt = 0;
    Own *const own = ask_own();
    if (count <= 0) return 0;
    if (doomed(own)) return -1;
    remember(&before, own, count);
    const ptrdiff_t room = count < RECORD_BLOCK ? count : RECORD_BLOCK;
    for (int k = 0; k < all; k++) {
        const __ufm_item item = plan->items[k];
        blocks.direct[k] = steps[k] == item.size && !((uintptr_t)args[k] % (uintptr_t)item.align);
        need += ((size_t)room * (size_t)item.size + 127) & ~(size_t)63;
    }
    for (int o = nin; o < all; o++) {
        const ptrdiff_t size = plan->items[o].size;
        if (steps[o] == 0 && count > 1) block = 1;
        for (int k = 0; k < nin; k++) {
            if (args[k] == args[o]) blocks.direct[k] = blocks.direct[o] = 0;
            if (count == 1 || (args[k] == args[o] && steps[k] == steps[o] && plan->items[k].size == size)) continue;
            if (!apart(args[k], steps[k], plan->items[k].size, args[o], steps[o], size, count)) {
                blocks.direct[k] = blocks.direct[o] = 0;
                block = 1; /* reduce, accumulate */
            }
        }
    }
    if (!(blocks.memory = malloc(need))) {
        fail(__ufm_host.memory_error, "no memory for the blocks of a ufunc call");
        restore(&before, 0);
        return -1;
    }
    char *free_room = blocks.memory + (64 - (uintptr_t)blocks.memory % 64) % 64;
    for (int k = 0; k < all; k++) {
        blocks.buffer[k] = free_room;
        free_room += ((size_t)room * (size_t)plan->items[k].size + 127) & ~(size_t)63;
    }
    Walk walk = {.own = own, .pace = pace_of(own, plan), .stop = count};
    for (ptrdiff_t piece; (piece = advance(&walk)) && !(time_to_ask(own) && (halt = interrupted())); ) {
        real |= run_record_blocks(plan, own, &blocks, args, steps, walk.start, walk.start + piece, block, &halt);
        if (halt) break;
    }
    free(blocks.memory);
    restore(&before, halt ? 0 : real);
    return halt ? -1 : 0;
}
#endif
