// Method `reverse-edge`: the kernel of the reverse-edge forward algorithm. The host's part and the choices are in
// src/gpu/reverse_edge.rs.

// One thread per edge of `first..last`: writes the number of common entries of the rows of both ends to its place in `result`.
extern "C" __global__ void __launch_bounds__(1024) reverse_edge(const Rows *rows, const u32 *tail, u64 first, u64 last, u32 *result) {
    const u64 i = first + this_thread();
    if (i >= last) return;
    const u32 successor = rows->successors[i];
    u32 count = 0;
    if (covers(rows, successor)) {
        const Row x = row_at(rows, tail[i]), y = row_at(rows, place_of(rows, successor));
        u32 p = 0, q = 0;
        while (p < x.length && q < y.length) {
            const u32 a = x.begin[p], b = y.begin[q];
            if (a < b) p++;
            else if (a > b) q++;
            else { count++; p++; q++; }
        }
    }
    result[i] = count;
}
