"""hexc_bench: what ``scripts/bench`` and ``scripts/gpu-day`` do.  It needs nothing but Python, hexc as a command and
the CUDA driver; what else is installed (PyTorch, Triton, FlashInfer, vLLM) is timed beside it.

    models     shapes that models have       cases     operators at these shapes, as runs of examples
    runner     a case on the GPU             peers     the same by others' kernels, in a process of their own
    cuda       the driver, by ctypes         probes    kernels that measure one unit each
    calibrate  probes on this GPU, roofs, rows for infer/core/sm_throughput.def
    report     Markdown, a page with plots   schema    what JSON files look like, checked
    host       bench --host                  cli, day  the two command lines

and of a day:

    items      the list of what is tried     data      tensors by seed
    kit        kernels compiled beforehand, and the archive that is carried
    steps      what a day consists of        journal   what it found, line by line, and the summary of it
    device     the process with the GPU, and its keeper
    right      outputs beside references     reference, tiles, arrays: kernels' own IR with bounds, run on arrays
    model      random models for examples/llama
    day_page   the summary as Markdown, as a page, as rows and figures
"""
