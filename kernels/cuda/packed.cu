// Method `packed`: rows are packed into words of bits; for each arc the longer row is in a table, and the words of the shorter row are
// looked up there ('streamed past the table').
//
// Input: the resident rows of a partition and a row block's rows, strictly ascending, every successor smaller than its row's own
// number. Output: the triangles that start at local vertices (their corner of largest number), added to one total.
//
// A packed row has a word for every run of numbers with a successor: the run in the high bits, a bit for each successor in the low
// ones. A run has 16 numbers among the first 65,536, which are called hubs, and 2^k after them (k = 4, or less if there are more
// numbers). Words of hubs are the ones below HUB, so they come first and the words of a row ascend. A row begins at a multiple of four
// words (a chunk, read at once) and is padded with zeros, which have no bit in common with any word. On Kronecker graphs a word has
// about two successors, on crawls up to ten.
//
// For an arc a -> b only successors before b can close a triangle, so it costs min(words of b, words of a before b). The end with the
// longer of these two rows owns the arc (packed_assign.cuh): its row is made a table in shared memory once, and the other rows of all
// arcs that it owns are streamed past. An arc is stored as the first chunk of the other row and the number of chunks: a prefix of
// a's row, or all of b's row. A prefix may end within a chunk: the successors after it are not below b and match nothing.
//
// Three kernels, by the work of an owner:
//   by_thread  rows of one chunk against rows of one chunk: a thread takes a local, 16 comparisons; such arcs have no owner.
//   by_warp    rows of at most WARP_WORDS words and little to stream: a warp takes an owner. The table is a hash of two levels without
//              collisions: factors are tried until the second level has none; after TRIES attempts, rows are searched instead.
//              So a probe has no loop. The lanes of the warp take the chunks of 32 rows, one each.
//   by_block   all others: a block takes an owner. The table is a bitmap of the hubs (8 KB) and an open hash of the rest of the row,
//              TAIL_WORDS at a time, so it never overflows. Rows longer than `LONG` chunks take LANES lanes each.
// Owners with very much work are cut into parts for several blocks. Blocks take owners from a counter.
//   by_group   instead of the last two, if no row has more than GROUP_WORDS words, as in uniform graphs and grids: then all arcs belong to
//              their tails, and nothing is assigned. Only where the total is wanted.
//
// Each of the three has a second variant, which also counts the triangles at each vertex (packed_found.cuh): the list of an owner's arcs then has
// the other ends instead of the chunks where their rows begin. A third one counts the triangles on each arc (packed_arcs.cuh).

// packed_rows.cuh packs rows, packed_assign.cuh assigns arcs to owners, packed_stream.cuh streams rows past tables, packed_found.cuh
// and packed_arcs.cuh count what was found, packed_words.cuh has what all share, and packed_by_thread.cuh the first kernel: they are
// compiled before this file. packed_by_group.cuh, packed_by_block.cuh and packed_by_warp.cuh are compiled after it;
// their constants are here.

constexpr u32 LANES = 8; // lanes that stream a long row
constexpr u32 SLOTS = 512, MORE_SLOTS = 128, TRIES = 8;
constexpr u32 TAIL_WORDS = 512, TAIL_SLOTS = 1024;
constexpr u32 GRAB = 8; // the most owners that a warp takes at a time; fewer if there are few for each warp
constexpr u32 GOLDEN = 0x9E3779B1u, SECOND = 0x85EBCA6Bu;

#if __CUDA_ARCH__ >= 800
#define BY_WARP_BLOCKS 9
#define BY_BLOCK_BLOCKS 12
#else
#define BY_WARP_BLOCKS 8
#define BY_BLOCK_BLOCKS 8
#endif
// The variants that count at vertices or on arcs: as many blocks as shared memory allows.
#define BY_WARP_VERTICES_BLOCKS 9
#define BY_BLOCK_VERTICES_BLOCKS 7
#define BY_WARP_EDGES_BLOCKS 9
#define BY_BLOCK_EDGES_BLOCKS 7

// Arcs of an owner whose triangles are added up in shared memory.
constexpr u32 NEAR_OF_BLOCK = 1024, NEAR_OF_WARP = 256;
