"""What is run of each program of the corpus on a GPU besides the input that is traced."""

# Sizes of input that are not traced, by program; what is traced is its default. Programs that take
# long to debloat come first, as several are debloated at a time.
HELD_OUT: dict[str, list[str]] = {
    "decoder": [f"{b}:{p}" for b in (1, 3, 7, 16) for p in (5, 17, 48, 100, 256, 300)],
    "resnet": [f"{b}:{s}" for b in (1, 5, 24, 40) for s in (64, 96, 160, 200)],
    "compiled": ["8", "24", "100", "255", "511", "777", "1000", "2000"],
    "ddp": ["1", "3", "8", "17", "33", "64", "100", "256"],
    "bert": [f"{b}:{n}" for b in (1, 5, 32, 65) for n in (3, 17, 128, 400)],
    "vit": [f"{b}:{s}" for b in (1, 3, 16, 33) for s in (112, 160, 256, 384)],
    "geometric": [
        *("10", "33", "64", "100", "333", "1000"),
        *("2048", "3000", "5000", "10000", "20000", "30000"),
    ],
    "jaxtraining": ["1", "2", "3", "7", "8", "12", "24", "32", "48", "64", "96", "128"],
    "audio": [
        *("5000", "8000", "9999", "12345", "16001", "20000"),
        *("24000", "32000", "44100", "48000", "100000", "160000"),
    ],
    "cooperative": [
        *("3", "100", "1000", "1025", "5000", "10000"),
        *("20001", "40000", "65536", "80000", "100000", "131072"),
    ],
    "lstm": [f"{n}:{w}" for n in (1, 7, 50, 128) for w in (16, 48, 128, 256)],
    "graphs": ["8", "33", "48", "64", "100", "256", "300", "500", "777", "1024", "1500", "2048"],
    "jaxjit": ["3", "17", "33", "64", "100", "128", "300", "500", "768", "1000", "1500", "2000"],
    "cupylinalg": ["3", "8", "17", "33", "100", "128", "200", "256", "300", "513", "777", "1024"],
    "diffusion": ["16", "20", "24", "40", "48", "56", "64", "66", "80", "96", "112", "128"],
    "cupyfft": ["7", "30", "61", "97", "100", "128", "243", "343", "500", "720", "1000", "1024"],
}
# Programs that need more than one GPU.
GPUS = {"ddp": 2}
# Lines whose numbers differ by less, relative to their value, are equal: cuDNN's benchmark chooses
# algorithms by their time, in another order of sums in the next run.
TOLERANCES = {"resnet": 0.1}
OPERATIONS = "operations"
