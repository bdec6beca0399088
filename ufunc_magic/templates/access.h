/* On arm64, whether an access to memory that failed was to read or to write; for the driver and for watch.c. */
#if defined(__linux__) && defined(__aarch64__)
/* By the instruction: loads and stores have x1x0 in bits 28 to 25, SVE's 0010 and bit 31 (Arm Architecture Reference Manual, C4.1). */
static int access_of(uint32_t instruction)
{
    const uint32_t group = instruction >> 27 & 7, kind = instruction >> 22 & 3;
    if ((instruction & 0x9e000000) == 0x84000000) return instruction >> 29 == 7 ? 2 : 1;
    if ((instruction & 0x0a000000) != 0x08000000) return 0;
    if (group == 3 && !(instruction >> 24 & 1)) return 1; /* of a constant beside the code */
    /* Of one register 0 stores, as 2 does of a vector's 16 bytes; of all others bit 22 says that it loads. */
    if (group == 7) return !kind || (kind == 2 && instruction >> 26 & 1) ? 2 : 1;
    return kind & 1 ? 1 : 2;
}

/* 1: it read, 2: it wrote, 0: nobody knows. */
static int access_at(const siginfo_t *info, const void *context)
{
    const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
    /* Records, each with its kind and size, up to one of neither; ESR_MAGIC has the syndrome, whose bit 6 is "write". */
    const unsigned char *p = (const unsigned char *)m->__reserved, *end = p + sizeof m->__reserved;
    for (uint32_t head[2]; p + 16 <= end; p += head[1]) {
        memcpy(head, p, sizeof head);
        if (!head[0] || head[1] < 16) break;
        if (head[0] == 0x45535201) {
            uint64_t syndrome;
            memcpy(&syndrome, p + 8, 8);
            const unsigned kind = syndrome >> 26 & 0x3e; /* 0x20: the code itself could not be read */
            return kind == 0x20 ? 1 : kind != 0x24 ? 0 : syndrome >> 6 & 1 ? 2 : 1;
        }
    }
    /* Emulators leave it out. */
    return (uintptr_t)info->si_addr == m->pc ? 1 : access_of(*(const uint32_t *)m->pc);
}
#endif
