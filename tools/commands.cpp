// The table of commands and options.
#include "tools/commands.h"

namespace strata::tools {
namespace {

constexpr std::size_t any = 1000000;

// clang-format off
constexpr Option expr_options[] = {
    {"--var",      "NAME=MIN..MAX",   "",                         true,  "a variable and its inclusive bounds"},
    {"--assume",   "COND",            "",                         true,  "simplify where this condition holds"},
    {"--at",       "NAME=VALUE,...",  "",                         true,  "evaluate the text at a point"},
    {"--notation", "NOTATION",        "spec|c|python|latex|tree", false, "print this one rendering: spec, c, python, latex or tree"},
    {"--trace",    "",                "",                         false, "list each rewrite rule that fired, with its instance"},
    {"--no-exact", "",                "",                         false, "use the rewrite rules alone, without the exact step on small boxes"},
    {"--json",     "",                "",                         false, "print the answer as 'strata batch' does"},
    {"--link",     "",                "",                         false, "print only the URL of the page that shows the result (strata viz)"},
};
constexpr Example expr_examples[] = {
    {"strata expr '(a + b*10) % 10' --var a=0..10 --var b=0..10", "simplifies to (a%10): b has no influence"},
    {"strata expr '(x*6 + 5) // 3' --var x=-4..4 --trace",        "the rules that led to the result"},
    {"strata expr 'i % n' --var i=0..63 --var n=1..64 --assume 'i < n'", "a condition makes the index simpler"},
    {"strata expr 'a*40 // 20' --var a=0..10 --notation c",       "only the C text"},
    {"strata expr '-a // 4' --var a=0..10 --at a=7 --at a=8",     "floor division: the values are -2 and -2"},
};

constexpr Option view_options[] = {
    {"--shape",       "SIZES",         "", false, "start from one View of this shape, as 3,2; row-major unless --strides says otherwise"},
    {"--strides",     "STRIDES",       "", false, "the strides of that View, as 1,3"},
    {"--offset",      "N",             "", false, "the offset of that View"},
    {"--mask",        "RANGES",        "", false, "the mask of that View: a half-open begin:end a dimension, as 0:2,: (: is the whole)"},
    {"--views",       "VIEWS",         "", false, "start from these Views, memory first: printed Views, or JSON"},
    {"--reshape",     "SIZES",         "", true,  "the same elements in another shape"},
    {"--permute",     "ORDER",         "", true,  "reorder the dimensions, as 1,0"},
    {"--expand",      "SIZES",         "", true,  "repeat dimensions of size 1"},
    {"--pad",         "BEFORE:AFTER,..", "", true,  "add masked elements, as 1:1,0:2"},
    {"--shrink",      "BEGIN:END,..",  "", true,  "keep a part, as 1:3,:"},
    {"--flip",        "AXES",          "", true,  "reverse dimensions, as 0"},
    {"--stride",      "STEPS",         "", true,  "every n-th element, as 2,1; backwards where negative"},
    {"--idxs",        "NAMES",         "", false, "names of the indices, as x,y (default ridx0,ridx1,..)"},
    {"--no-simplify", "",              "", false, "leave the stack of Views as the operations built it"},
    {"--why",         "",              "", false, "say why the stack takes more than one View"},
    {"--expr",        "TEXT",          "", false, "instead of Views: an index expression over the variables"},
    {"--valid",       "TEXT",          "", false, "the condition under which --expr is valid (default 1: everywhere)"},
    {"--var",         "NAME=MIN..MAX", "", true,  "a variable and its inclusive bounds: of --expr, or of symbolic sizes"},
    {"--addresses",   "",              "", false, "list all addresses in row-major order, -1 where masked"},
    {"--json",        "",              "", false, "print the answer as 'strata batch' does"},
    {"--link",        "",              "", false, "print only the URL of the page that shows the result (strata viz)"},
    {"--color",       "WHEN",          "always|never|auto", false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example view_examples[] = {
    {"strata view --shape 3,2 --permute 1,0 --reshape 3,2",
     "index         (((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))"},
    {"strata view --shape 2,3 --pad 1:0,0:1",
     "      0 | · · · ·\n"
     "      1 | 0 1 2 ·\n"
     "      2 | 3 4 5 ·"},
    {"strata view --shape 4,3 --strides 3,1 --mask 0:2,0:2", "valid         ((ridx0<2) and (ridx1<2))"},
    {"strata view --shape n,3 --var n=1..100 --idxs x,y", "index         ((x*3)+y)"},
    {"strata view --expr '(i*2 + j) % 5' --valid 'j < 2' --var i=0..2 --var j=0..2",
     "  0 | 0 1 ·\n"
     "  1 | 2 3 ·\n"
     "  2 | 4 0 ·"},
    {"strata view --views 'View(shape=(2, 2), strides=(1, 2))' --addresses", "addresses     0 2 1 3"},
};

constexpr std::string_view layout_names =
    "coalesce|composition|complement|logical_divide|zipped_divide|tiled_divide|flat_divide|logical_product|zipped_product|"
    "tiled_product|flat_product|blocked_product|raked_product|right_inverse|left_inverse|nullspace|swizzle|crd2idx|idx2crd|"
    "size|cosize";
constexpr Option layout_options[] = {
    {"--var",   "NAME=MIN..MAX", "",         true,  "a variable of symbolic sizes, and its inclusive bounds"},
    {"--json",  "",     "",                  false, "print the answer as 'strata batch' does"},
    {"--link",  "",     "",                  false, "print only the URL of the page that shows the result (strata viz)"},
    {"--color", "WHEN", "always|never|auto", false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example layout_examples[] = {
    {"strata layout '(4,(2,2)):(2,(1,8))'",
     "      0 |  0  1  8  9\n"
     "      1 |  2  3 10 11\n"
     "      2 |  4  5 12 13\n"
     "      3 |  6  7 14 15"},
    {"strata layout composition '(6,2):(8,2)' '(4,3):(3,1)'", "layout      ((2,2),3):((24,2),8)"},
    {"strata layout logical_divide '16:1' '(2,2):(1,4)'", "layout      ((2,2),(2,2)):((1,4),(2,8))"},
    {"strata layout crd2idx '((2,4),8):((1,16),2)' '((1,2),3)'", "value       39"},
    {"strata layout swizzle 2 0 2",
     "    0 |  0  1  2  3\n"
     "    1 |  5  4  7  6\n"
     "    2 | 10 11  8  9\n"
     "    3 | 15 14 13 12"},
};

constexpr Option kernel_options[] = {
    {"--device", "NAME",     "LLVM|CLANG|OPENCL|INTERP|NULL", false, "the target device (default: the flag DEVICE, or the first usable device)"},
    {"--target", "LANGUAGE", "c|llvm|opencl|cuda|metal|wgsl", false, "the language of the source, instead of --device; cuda, metal, wgsl: source only"},
    {"--vector-bytes", "N",  "16|32|64", false, "the width of vectors (default: the width of the device's processor)"},
    {"--opts",   "OPTS",     "", false, "loop transformations: 'UPCAST 0 4, LANES 1 16', none, or auto (default)"},
    {"--show",   "SECTIONS", "", false, "ast,axes,uops,source,asm,proof,time,passes, or all (default axes,uops,source,proof)"},
    {"--run",    "",         "", false, "run on random input, compare with INTERP where INTERP is quick, and measure"},
    {"--values", "NAME=VALUE,...", "", true, "values of the kernel's variables, for --run"},
    {"--repeat", "N",        "", false, "the number of measured runs (default 10, or fewer after a second)"},
    {"--json",   "",         "", false, "print one JSON object with all of it"},
    {"--link",   "",         "", false, "print only the URL of the page that shows the result (strata viz)"},
    {"--color",  "WHEN",     "always|never|auto", false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example kernel_examples[] = {
    {"strata kernel 'a: f32[4]; b = exp(a) + 1' --device CLANG", "void E_4(float* restrict data0, const float* restrict data1) {"},
    {"strata kernel 'a: f32[8,4]; b = a.sum(1)' --opts 'UPCAST 0 4' --show axes", "opts: UPCAST 0 4"},
    {"strata kernel 'n: 1..100; a: i32[n]; b = a*2' --device INTERP --show proof --run --values n=50", "check       not checked: INTERP is the oracle itself"},
    {"strata kernel 'a: f32[64,64]; b: f32[64,64]; c = a @ b' --show passes", "passes"},
};

constexpr Option shard_options[] = {
    {"--mesh",   "NAME=SIZE,...",  "", false, "the axes of the mesh; ranks count row-major, the last axis fastest"},
    {"--shard",  "NAME=SHARDING",  "", true,  "who owns the tensor NAME, as a=data:0 or a=data+model:1/cyclic(16)"},
    {"--rank",   "N",              "", false, "only this rank: what it owns, receives and sends"},
    {"--json",   "",               "", false, "print one JSON object with all of it"},
    {"--color",  "WHEN",           "always|never|auto", false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example shard_examples[] = {
    {"strata shard 'a: f32[512,512]; b = a.T' --mesh data=2,model=4 --shard a=data:0", "a for b     no messages"},
    {"strata shard 'a: f32[512,512]; b = a.T' --mesh data=2 --shard a=data:0 --shard b=data:0", "total       512 KiB  (2 messages)"},
    {"strata shard 'a: f32[1000000]; b = a*2' --mesh x=8 --shard a=x:0 --shard b='x:0/cyclic(16)' --rank 3", "from blocks to a cyclic sharding"},
    {"strata shard 'a: f32[8,8]; b = a + 1' --mesh x=4 --shard 'a=(4,16):(16,1)'", "a layout (rank,local) made by hand"},
};

constexpr Option run_options[] = {
    {"--input",  "[NAME=]FILE", "",                       true,  "an input, from an npy file: by name, or the next one in order"},
    {"--random", "",            "",                       false, "make the inputs that are not given: random floats (always the same), ones for others"},
    {"--size",   "NAME=N",      "",                       true,  "a symbolic size (default 1), or MIN..MAX for kernels of all these sizes"},
    {"--output", "[NAME=]FILE", "",                       true,  "write an output to an npy file: by name, or the next one in order"},
    {"--device", "NAME",        "LLVM|CLANG|OPENCL|INTERP", false, "the device that computes (default: the flag DEVICE, or the first usable device)"},
    {"--json",   "",            "",                       false, "print one JSON object"},
    {"--color",  "WHEN",        "always|never|auto",      false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example run_examples[] = {
    {"strata run model.onnx --input x.npy", "output      y: f32(1, 10)"},
    {"strata run model.onnx --input image=x.npy --output y.npy", "the first output, as an npy file"},
    {"strata run model.onnx --random --size batch=8", "time        1.23 ms   (the first call 210 ms)"},
};

constexpr Option export_options[] = {
    {"--output",   "PATH",        "",                       false, "or -o: write PATH.h, PATH.c and more; all names in C begin with the name of the file"},
    {"--size",     "NAME=N",      "",                       true,  "a symbolic size (default 1), or MIN..MAX: an argument of the C function"},
    {"--constant", "NAME=FILE",   "",                       true,  "an input with these elements in all calls, from an npy file: e.g. a shape"},
    {"--target",   "WORD[,...]",  "plain|generic|avx2|avx512|neon|wasm|rvv", false, "how kernels are written (default generic); avx512,avx2,generic: chosen when it runs"},
    {"--object",   "MACHINE",     "",                       false, "PATH_kernels.o, compiled: for x86_64, aarch64, armv7em, riscv64, wasm32, or a triple"},
    {"--cpu",      "CPU",         "",                       false, "the CPU of --object, by LLVM's name (default: the least of the machine)"},
    {"--features", "LIST",        "",                       false, "features of --object besides, e.g. +sse4.1,-fma"},
    {"--kernels",  "LANGUAGE",    "opencl|cuda|metal|wgsl", false, "write no C, but kernels for devices, and a table of their launches, PATH.json"},
    {"--weights",  "PLACE",       "embed|file|pointer",     false, "weights are in the C file (default), or in PATH.bin (file: with a checked head)"},
    {"--weight-dtype", "DTYPE",   "f32|f16|int8",           false, "how weights are stored, rounded; kernels widen them"},
    {"--deterministic", "",       "",                       false, "the same bits with every compiler"},
    {"--selftest", "",            "",                       false, "also write PATH_test.c, a program that runs the model and compares"},
    {"--cpp",      "",            "",                       false, "also write PATH.hpp, a class for C++20 that takes spans"},
    {"--input",    "[NAME=]FILE", "",                       true,  "an input for --selftest, from an npy file (default: random floats, ones)"},
    {"--max-ram",  "BYTES",       "",                       false, "refuse a model that needs more RAM: arena, state and stack"},
    {"--max-flash", "BYTES",      "",                       false, "refuse a model that has more weights and tables, and code of --object"},
    {"--svg",      "FILE",        "",                       false, "write a picture of the arena over time"},
    {"--no-lines", "",            "",                       false, "leave out where an operation was written"},
    {"--device",   "NAME",        "LLVM|CLANG|OPENCL|INTERP", false, "the device that runs the model before the export"},
    {"--json",     "",            "",                       false, "print one JSON object"},
    {"--color",    "WHEN",        "always|never|auto",      false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example export_examples[] = {
    {"strata export model.onnx --output out/model", "files       out/model.h  (3.2 KiB)"},
    {"strata export model.onnx -o out/model --size batch=4 --selftest", "cc -O2 out/model.c out/model_test.c && ./a.out"},
    {"strata export model.onnx -o out/model --size batch=1..64", "int64_t batch is an argument, which has bounds: MODEL_BATCH_MIN and MODEL_BATCH_MAX"},
    {"strata export model.onnx -o out/model --target avx2 --weights pointer", "the weights are in out/model.bin"},
    {"strata export model.onnx -o out/model --object armv7em --target plain", "out/model_kernels.o has the kernels, for a Cortex-M4 with its unit for floats"},
};

constexpr Option inspect_options[] = {
    {"--size",   "NAME=N", "",                         true,  "a symbolic size (default 1), or MIN..MAX: shapes of nodes have its name"},
    {"--device", "NAME",   "LLVM|CLANG|OPENCL|INTERP", false, "the device for what has to be computed"},
    {"--json",   "",       "",                         false, "print one JSON object"},
    {"--color",  "WHEN",   "always|never|auto",        false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example inspect_examples[] = {
    {"strata inspect model.onnx --size batch=8", "Conv      /conv1/Conv  f32(8, 64, 112, 112)"},
};

constexpr std::string_view viz_words = "expr|view|layout|kernel";
constexpr Option viz_options[] = {
    {"--no-open", "", "", false, "print the URL without starting a browser"},
    {"--serve",   "", "", false, "serve the page on this machine's loopback address, until Ctrl-C; FILE is followed as it grows"},
};
constexpr Example viz_examples[] = {
    {"strata viz",                                                "the page: type what you want to see"},
    {"strata viz view --shape 3,2 --permute 1,0 --reshape 3,2",   "the same as 'strata view', drawn"},
    {"strata viz kernel 'a: f32[64,64]; b: f32[64,64]; c = a @ b' --opts 'UPCAST 0 4'", "loops, UOps, source, proof, linked"},
    {"STRATA_VIZ=t.jsonl ./program; strata viz t.jsonl",          "what the program did"},
    {"strata viz --serve 8080 t.jsonl",                           "while it runs; from elsewhere: ssh -L 8080:127.0.0.1:8080 HOST"},
    {"strata layout '(4,(2,2)):(2,(1,8))' --link",                "a URL to keep, instead of the text"},
};

constexpr std::string_view tour_chapters = "sum|gradient|movement|symbolic";
constexpr Option tour_options[] = {
    {"--device", "NAME", "LLVM|CLANG|OPENCL|INTERP", false, "the device that runs the kernels (default: the flag DEVICE, or the first usable device)"},
    {"--json",   "",     "",                         false, "print one JSON object a stage"},
    {"--color",  "WHEN", "always|never|auto",        false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example tour_examples[] = {
    {"strata tour sum --device INTERP", "> result.item<float>()\n  5.0"},
    {"strata tour movement",            "> a.expr_idxs().index.render()\n  (((idx0%10)*10)+(idx0//10))"},
};

constexpr Option devices_options[] = {
    {"--json",  "",     "", false, "print one JSON object a device"},
    {"--color", "WHEN", "always|never|auto", false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example devices_examples[] = {
    {"strata devices", "INTERP  usable   element by element, a table from op to function: the oracle"},
};

constexpr Option doctor_options[] = {
    {"--json",  "",     "", false, "print one JSON object"},
    {"--color", "WHEN", "always|never|auto", false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example doctor_examples[] = {
    {"strata doctor", "check       2+3 is 5 on LLVM"},
    {"STRATA_DEVICE=CLANG strata doctor --json", R"({"version":"0.1.0",...,"check":{"device":"CLANG","right":true,...},...})"},
};

constexpr Option cache_options[] = {
    {"--json",  "",     "", false, "print one JSON object"},
    {"--color", "WHEN", "always|never|auto", false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example cache_examples[] = {
    {"strata cache",       "entries     12 entries, 1.31 MiB of 256 MiB"},
    {"strata cache check", "check       12 entries are whole"},
    {"du -sh \"$(strata cache path)\"", ""},
};

constexpr std::string_view bench_names = "elementwise|sum|softmax|layernorm|matmul|conv";
constexpr Option bench_options[] = {
    {"--device", "NAME", "LLVM|CLANG|OPENCL", false, "the device that runs the kernels (default: the flag DEVICE, or the first usable device)"},
    {"--machine", "",    "", false, "measure the numbers that predicted times depend on, and keep them for this machine"},
    {"--json",   "",     "", false, "print one JSON object a measurement"},
    {"--color",  "WHEN", "always|never|auto", false, "colours: always, never, or auto: on a terminal that shows them"},
};
constexpr Example bench_examples[] = {
    {"strata bench",                     "softmax      2.87 ms  11.7 GFLOP/s  11.7 GB/s   92%"},
    {"strata bench matmul conv --json", R"({"name":"matmul","device":"LLVM","seconds":0.00214,...})"},
    {"STRATA_THREADS=1 strata bench",    "on one thread"},
};

constexpr Option batch_options[] = {
    {"--budget",   "N",       "", false, "work limit of one request, in bytes of text evaluated (default 67108864)"},
    {"--deadline", "SECONDS", "", false, "answer 'budget' to a request that takes longer, as 0.5 (default: no limit)"},
};
constexpr Example batch_examples[] = {
    {R"(echo '{"do":"expr","text":"a%4","vars":{"a":[0,3]}}' | strata batch)", R"({"render":"a","c":"a","min":0,"max":3,"exact":true,...})"},
    {R"(echo '{"do":"prove","text":"a*2 < 9","vars":{"a":[0,5]},"id":1}' | strata batch)", R"({"id":1,"answer":"false","counterexample":{"a":5}})"},
    {R"(echo '{"do":"equal_expr","a":"x/2*2+x%2","b":"x","vars":{"x":[-99,99]}}' | strata batch)", R"({"equal":true,"witness":null})"},
    {R"(echo '{"do":"affine","text":"i*128+64","at":[{"i":3}]}' | strata batch)", R"({"values":[448]})"},
    {R"(echo '{"do":"layout","fn":"complement","args":["4:2",24]}' | strata batch)", R"~({"layout":"(2,3):(1,8)","table":[0,1,8,9,16,17]})~"},
    {"strata batch requests.jsonl > answers.jsonl", "an answer line for each request line, in order"},
};

constexpr Option rules_options[] = {
    {"--math", "", "", false, "list the formulas of exp, sin and similar functions instead, with the largest error of each"},
    {"--json", "", "", false, "print one JSON object a rule or formula"},
};
constexpr Example rules_examples[] = {
    {"strata rules",        "all rules, by section"},
    {"strata rules D8 M6",  "these two, with their proofs"},
    {"strata rules --math", "  EXP        1.2 ULP  2^n * polynomial                   f32"},
};

constexpr Option flags_options[] = {
    {"--json", "", "", false, "print one JSON object a flag"},
};
constexpr Example flags_examples[] = {
    {"STRATA_DEBUG=5 strata expr 'a%4' --var a=0..3", "prints each rewrite on standard error"},
};

constexpr Example completion_examples[] = {
    {"source <(strata completion bash)", "in ~/.bashrc"},
    {"strata completion zsh > ~/.zfunc/_strata", "a folder of $fpath"},
    {"strata completion fish > ~/.config/fish/completions/strata.fish", ""},
};

constexpr Example man_examples[] = {
    {"strata man | man -l -", "to read it"},
    {"strata man > ~/.local/share/man/man1/strata.1", "where man looks for it"},
};

constexpr Example help_examples[] = {
    {"strata help expr", "as strata expr --help"},
};

constexpr Command command_table[] = {
    {"expr", "TEXT", 1, 1, "", "simplify an index expression; its bounds and its C, Python and LaTeX text",
     "TEXT is infix: + - * // %  < <= > >= == !=  and or not  min max select(c,a,b); '/' and '//'\n"
     "both floor. Every name needs bounds (--var). The printed bounds are the bounds of the simplified\n"
     "expression; 'exact' means that both bounds are attained.",
     "the text or a condition is invalid",
     expr_options, expr_examples, command_expr},
    {"view", "", 0, 0, "", "show the addresses of a stack of Views as text, index expression and picture",
     "Starts from --shape or --views and applies the movement operations in the order given, or draws\n"
     "--expr over its variables. In the picture a cell is the address of an element, `·` a masked element.\n"
     "The memory is drawn below, with `_` for an address that no element reads.",
     "the Views or an operation are invalid",
     view_options, view_examples, command_view},
    {"layout", "LAYOUT | FUNCTION ARGUMENT...", 1, 4, layout_names, "show, compose, divide or invert layouts, as ((2,4),8):((1,16),2)",
     "A layout is sizes:strides, the first size fastest. It is drawn with mode 0 down and mode 1 across.\n"
     "Functions of A: coalesce right_inverse left_inverse nullspace size cosize, and crd2idx A [COORDINATE],\n"
     "idx2crd A INTEGER, complement A COSIZE; of A and B: composition, logical_divide zipped_divide\n"
     "tiled_divide flat_divide, logical_product zipped_product tiled_product flat_product blocked_product\n"
     "raked_product; swizzle BITS BASE SHIFT. In composition and the divides B may be '<4:1, 8:2>', a layout a mode.\n"
     "Every answer is exact. Where no exact answer exists, the command prints the reason.",
     "there is no exact answer, or the text is invalid",
     layout_options, layout_examples, command_layout},
    {"kernel", "TEXT", 1, 1, "", "compile a kernel and show axes, UOps, source and proof; run and measure the kernel",
     "TEXT is statements, separated by ';' or line ends:\n"
     "  n: 1..100           a variable and its inclusive bounds\n"
     "  a: f32[n+1,512]     an input: dtype and sizes; without [...] one value\n"
     "  c = a * 2           a name; a name that no other statement uses is an output. Assigning to an input\n"
     "                      stores into the input\n"
     "Operators, as NumPy has them: + - * / // % ** @  < <= > >= == !=  & | ^ ~ << >>; shapes broadcast,\n"
     "dtypes are promoted, a number takes the other operand's dtype. Functions: exp exp2 log sqrt sin tanh\n"
     "erf abs floor max(a,b) min(a,b) where(c,a,b) ... (each op between elements), relu sigmoid silu gelu,\n"
     "matmul(a,b), gather(table,i), f16(x), x.cast(f16), x.bitcast(i32), iota(n), full(shape,value).\n"
     "Movement: x.reshape(2,3) permute(1,0) expand(4,3) pad(1:0,0:2) shrink(0:2,:) flip(0) stride(2,-1) x.T.\n"
     "Reductions, which keep their axes with size 1: x.sum(1) prod max min mean, () for all axes; x.softmax(1).\n"
     "Running totals: x.cumsum(1) cumprod cummax cummin.\n"
     "Buffers: outputs are data0, data1, ..., inputs follow.",
     "the text is invalid, the device fails, or --run differs from INTERP",
     kernel_options, kernel_examples, command_kernel},
    {"shard", "TEXT", 1, 1, "", "show who owns what of tensors on a mesh of ranks, and the messages between them",
     "TEXT is as in strata kernel, of movement and operations element by element. Nothing is run: owners and\n"
     "messages are computed from the index maps. A sharding is MESH-AXIS:TENSOR-AXIS, several with commas\n"
     "between: in blocks, or dealt out in blocks of N by /cyclic(N). Mesh axes joined by + split one tensor axis\n"
     "together, the first one slowest. Or it is a layout (rank,local):(strides); the values are row-major numbers\n"
     "of elements, stride 0 in the rank makes replicas. An input without --shard is replicated; an output is\n"
     "sharded as the operand by which the fewest bytes move. Boxes have begin:end for each axis, or\n"
     "begin:end/stride*count for intervals that repeat.",
     "the text or a sharding is invalid",
     shard_options, shard_examples, command_shard},
    {"run", "MODEL", 1, 1, "FILE", "run an ONNX model on arrays",
     "Inputs are npy files, outputs are printed (the first elements) and written by --output. The model runs\n"
     "twice; the first call compiles.",
     "the model or an input is refused, or a device fails",
     run_options, run_examples, command_run},
    {"inspect", "MODEL", 1, 1, "FILE", "list the nodes, inputs, outputs and parameters of an ONNX model",
     "The nodes with the types of their outputs, as a call on ones makes them; nodes in loops and branches\n"
     "as often as they run. Where the model cannot run, its nodes and the reason.",
     "the model cannot be read, or cannot run here",
     inspect_options, inspect_examples, command_inspect},
    {"export", "MODEL", 1, 1, "FILE", "write an ONNX model as one C file with a header",
     "The C file needs no library and allocates nothing: docs/shipping.md of the source has the contract. The\n"
     "model is written for one size of each input, or for all sizes of a range, and runs twice before. An input\n"
     "whose elements decide a size or a branch has to be a --constant. A size outside of its range makes the C\n"
     "function return NAME_SIZE_OUT_OF_BOUNDS.",
     "the model cannot be exported, or a file cannot be written",
     export_options, export_examples, command_export},
    {"viz", "[COMMAND WORD... | FILE]", 0, any, "FILE|expr|view|layout|kernel", "show expressions, Views, layouts, kernels and traces in a browser",
     "COMMAND is expr, view, layout or kernel, with its arguments: the page shows the result. FILE is a\n"
     "trace that a program writes under STRATA_VIZ=FILE, as JSON lines, compressed or not. Options go first;\n"
     "a port may follow --serve (default: a free port).\n"
     "The page is one file that needs no network. It is written to the folder viz of the cache, and shown by\n"
     "BROWSER or the desktop; where no browser starts, the URL of the page is printed. The server answers\n"
     "this machine alone (127.0.0.1, ::1, the end of a tunnel), and serves the page and FILE, nothing else.",
     "the page or FILE cannot be read, or the arguments are invalid",
     viz_options, viz_examples, command_viz, viz_words},
    {"tour", "[CHAPTER...]", 0, any, tour_chapters, "2+3 through every layer, then gradients, movement, symbolic integers",
     "Each stage shows lines of C++ and their output. Chapters: sum (Tensor, LazyOp, schedule, kernel,\n"
     "UOps, C, LLVM IR, buffers, 5), gradient, movement (ShapeTrackers), symbolic (Variables, sizes).",
     "the device cannot be used",
     tour_options, tour_examples, command_tour},
    {"devices", "", 0, 0, "", "list the devices that run kernels here, and how to get missing devices",
     "", "", devices_options, devices_examples, command_devices},
    {"doctor", "", 0, 0, "", "report what this machine has and lacks, and whether 2+3 is 5 here",
     "The processor, memory, devices, compilers, LLVM, OpenCL's platforms and the disk cache; for what is\n"
     "missing, the command that installs it. 2+3 runs on the default device (the flag DEVICE).",
     "the default device does not compute 2+3",
     doctor_options, doctor_examples, command_doctor},
    {"bench", "[NAME...]", 0, any, bench_names, "measure kernels: times, and the share of the machine's speed",
     "Names: elementwise, sum, softmax, layernorm, matmul, conv; without one, all of them.\n"
     "First the limits of the machine, measured with kernels of Strata (see strata kernel --run), then each\n"
     "measurement: the median time of its kernel, operations and bytes a second, and the percentage of the\n"
     "time that memory and arithmetic would allow; above 100 where the data is in a cache. The whole command\n"
     "takes less than 20 seconds on an idle machine.\n"
     "With --machine, the numbers of the processor by which Strata predicts the times of kernels and compares\n"
     "lists of Opts. They are kept in the cache folder (strata cache), for LLVM and CLANG in later processes;\n"
     "strata kernel --target and exported code use the numbers of a table, so that texts are the same\n"
     "everywhere. strata cache clear goes back to the table.",
     "the device cannot be used, or computes nothing",
     bench_options, bench_examples, command_bench},
    {"cache", "[ACTION]", 0, 1, "list|path|check|clear", "list, check or delete the compiled kernels on disk",
     "list (the default) prints the folder, and the number, bytes and ages of the entries; path prints the\n"
     "folder alone; check reads every entry and verifies its checksum; clear deletes the entries. Other files\n"
     "in the folder stay, and other processes may go on.\n"
     "Flags: STRATA_CACHE_DIR, STRATA_CACHE_SIZE, STRATA_DISK_CACHE.",
     "the folder cannot be used, or check finds damage",
     cache_options, cache_examples, command_cache},
    {"batch", "[FILE...]", 0, any, "FILE", "answer JSON requests, one a line",
     "Reads one JSON object a line from the files, or from standard input, and writes one JSON object\n"
     "a line in the same order. An \"id\" comes back in the answer; an error is an answer too. A line ends\n"
     "in a newline. A last line of white space alone, without a newline, is ignored. \"do\", and its keys:\n"
     "  expr        text [vars assume at]: simplified, its bounds, C text, values\n"
     "  prove       text [vars assume]: true, false with a counterexample, or unknown\n"
     "  equal_expr  a b [vars]: whether two texts are equal\n"
     "  affine      text at: the values of the text\n"
     "  view        shape or views [ops simplify addresses idxs]: a stack of Views\n"
     "  equal_view  a b, each as in view: whether two stacks have the same addresses\n"
     "  layout      fn args: a function of 'strata layout'\n"
     "All keys and answers are in docs/batch.md of the source.",
     "a file cannot be read",
     batch_options, batch_examples, command_batch},
    {"rules", "[NAME...]", 0, any, "", "list the rewrite rules and how each is proven",
     "A rule says: `before` equals `after` wherever the guard holds. Letters: x y z w are integers;\n"
     "a b d e integer constants; c k g h positive constants; n m positive variables; p q r conditions.\n"
     "Errors of formulas are in units of the last place: the largest error of a sweep, rounded up.",
     "",
     rules_options, rules_examples, command_rules},
    {"flags", "", 0, 0, "", "list the STRATA_* environment variables",
     "The variable STRATA_PLUGIN_DIR names the folder of the LLVM device's plugin, by an absolute path.", "an environment variable has an invalid value for its flag", flags_options, flags_examples, command_flags},
    {"completion", "SHELL", 1, 1, "bash|zsh|fish", "write a completion script for bash, zsh or fish",
     "", "", {}, completion_examples, command_completion},
    {"man", "", 0, 0, "", "write the manual page, in roff",
     "", "", {}, man_examples, command_man},
    {"help", "[COMMAND]", 0, 1, "COMMAND", "show this page, or a command's page",
     "", "", {}, help_examples, command_help},
};
// clang-format on

}  // namespace

std::span<const Command> commands() { return command_table; }

}  // namespace strata::tools
