"""Experiments: records in folders, readers of real data sets, synthetic experiments, agreement of runs with them."""
