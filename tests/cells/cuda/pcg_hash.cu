// PCG's output permutation as a hash of a counter (Jarzynski & Olano, JCGT 2020).
__device__ unsigned pcg_hash(unsigned x)
{
    unsigned state = x * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}
