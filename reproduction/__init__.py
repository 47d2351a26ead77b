"""The paper's tables and figures made again, and etana measured against others; run by ``etana reproduce``.

This stands beside the installed package, not in it: who classifies needs none of it. ``paper`` has what the paper
shows, ``measurements`` what goes beyond it; the modules here run cells in processes and keep their results.
"""
