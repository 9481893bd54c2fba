"""hexc_tune: finds the fastest constants and candidate of a tile program, shape by shape.

``scripts/tune`` is its command line, and scripts/python/TUNE.md its manual. It needs only Python. hexc runs as a
command, so that a failing kernel ends only a separate process.

    compiler   hexc as a command           space     what is swept: constants, shapes, predictions
    judge      one candidate's time        store     the database of all results
    clock      machine code's cycles       sweep     which candidates are timed, in which order
    gpu        the driver, NVML            crew      workers on this host; hosts: on many hosts, by Ray
    study      what pruning loses          export    guards for a host; report: a page with plots
"""
