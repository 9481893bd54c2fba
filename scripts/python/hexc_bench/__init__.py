"""hexc_bench: implements ``scripts/bench`` and ``scripts/gpu-day``. It needs only Python, hexc as a command and
the CUDA driver. Other installed libraries (PyTorch, Triton, FlashInfer, vLLM) are timed for comparison.

    models     shapes of models              cases     operators at these shapes, as runs of examples
    runner     a case on the GPU             peers     other libraries' kernels, in a separate process
    cuda       the driver, by ctypes         probes    microbenchmarks of one unit each
    calibrate  probes on this GPU, roofs, rows for infer/core/sm_throughput.def
    report     Markdown, a page with plots   schema    the format of JSON files, and its check
    host       bench --host                  cli, day  the two command lines

and for gpu-day:

    items      the list of work items        data      tensors by seed
    kit        precompiled kernels, and the archive for another machine
    steps      the steps of a run            journal   its results, line by line, and their summary
    device     the process that owns the GPU, and its supervisor
    right      compares outputs with references; reference, tiles, arrays: kernels' IR with bounds, run on arrays
    model      random models for examples/llama
    day_page   the summary as Markdown, as a page, as rows and measurements
"""
