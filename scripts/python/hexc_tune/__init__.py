"""hexc_tune: which constants and which candidate of a tile program are fastest, shape by shape.

``scripts/tune`` is its command line, and scripts/python/TUNE.md its manual.  It needs nothing but Python: hexc is used
as a command, so that a kernel that goes wrong takes a process of its own with it.

    compiler   hexc as a command           space     what is swept: constants, shapes, predictions
    judge      one candidate's time        store     the database: what was tried is kept
    clock      machine code's cycles       sweep     which candidates are judged, in which order
    gpu        the driver, NVML            crew      who does the work here; hosts: on many hosts, by Ray
    study      what pruning loses          export    guards for a host; report: a page with plots
"""
