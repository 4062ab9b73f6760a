"""Tables behind SoCLIB's figures.

performance  throughput against processors, the lock as a chain, what moves the peak, elements and ways
sets         sets of parameters that meet the calibration rows, and what each of them predicts
"""
