"""hexc_bench: what ``scripts/bench`` and ``scripts/gpu-day`` do.  It needs nothing but Python, hexc as a command and
the CUDA driver; what else is installed (PyTorch, Triton, FlashInfer, vLLM) is timed beside it.

    models     shapes that models have       cases     operators at these shapes, as runs of examples
    runner     a case on the GPU             peers     the same by others' kernels, in a process of their own
    cuda       the driver, by ctypes         probes    kernels that measure one unit each
    calibrate  probes on this GPU, roofs, rows for infer/base/rates.def
    report     Markdown, a page with plots   schema    what JSON files look like, checked
    host       bench --host                  cli, day  the two command lines; steps: what a day consists of
"""
